import { type Findings, NEEDS, type Need } from "./probe.ts";
import type { FailureCode } from "./exit-codes.ts";
import type { StoreLocation } from "@idk/storage/url";
import { codeOf } from "./failures.ts";
import { remedyFor } from "./remedies.ts";

/** A check of a store that failed. */
export interface CheckFailure {
  readonly check: Need | "encryption";
  readonly code: FailureCode;
  readonly message: string;
  readonly remedy: string;
}

/** The needs that a store does not meet, and what to do about each. */
export function failuresOf({ needs }: Findings, kind: StoreLocation["kind"]): CheckFailure[] {
  const failures: CheckFailure[] = [];
  for (const check of NEEDS) {
    const { ok, error } = needs[check];
    if (ok !== false) continue;
    const code = codeOf(error);
    const message = error instanceof Error ? error.message : String(error);
    failures.push({ check, code, message, remedy: remedyFor(check, code, kind) });
  }
  return failures;
}

/** Some servers take the request, and store the blob as it is. */
export function encryptionFailure(
  { encryption }: Findings,
  location: StoreLocation,
): CheckFailure[] {
  const asked = location.kind === "filesystem" ? undefined : location.encryption?.type;
  if (asked === undefined || encryption === undefined || encryption.startsWith(asked)) return [];
  const message = `it was asked for ${asked}, and the blob has ${encryption || "none"}`;
  const remedy = "ask for none, or take another store: what idk has sealed stays sealed either way";
  return [{ check: "encryption", code: "unavailable", message, remedy }];
}
