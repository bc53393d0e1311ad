import type { StoreLocation } from "@idk/storage/url";
import { codeOf, type FailureCode } from "../errors/failures.ts";
import { type Findings, type Need, NEEDS } from "./probe.ts";

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

type Kind = StoreLocation["kind"];

const REACHABLE: Readonly<Record<Kind, string>> = {
  filesystem: "create the folder: idk store init DIR, or the first idk put",
  s3: "check the bucket, the region, the endpoint and the network; idk store init makes a bucket",
  minio: "check host, port, tls and the bucket; idk store init makes a bucket",
  b2: "check the bucket and its region; idk store init makes a bucket",
};

const CREDENTIALS: Readonly<Record<Kind, string>> = {
  filesystem: "run it as the owner of the folder, or change its mode",
  s3: "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or the profile, and that its policy names this bucket and prefix",
  minio: "check MINIO_ACCESS_KEY and MINIO_SECRET_KEY, and that their policy names this bucket",
  b2: "check B2_ACCESS_KEY_ID and B2_SECRET_ACCESS_KEY: an application key, for the master key does not work",
};

/** What a policy has to allow, in the words of AWS and MinIO. */
const ACTIONS: Readonly<Partial<Record<Need, string>>> = {
  write: "s3:PutObject",
  read: "s3:GetObject",
  list: "s3:ListBucket",
  delete: "s3:DeleteObject (and s3:DeleteObjectVersion, s3:ListBucketVersions with versions)",
};

/** The same for an application key of B2. */
const CAPABILITIES: Readonly<Partial<Record<Need, string>>> = {
  write: "writeFiles",
  read: "readFiles",
  list: "listFiles",
  delete: "deleteFiles",
};

/** What to do about a need that a store does not meet. */
export function remedyFor(need: Need, code: FailureCode, kind: Kind): string {
  if (need === "reachable") return REACHABLE[kind];
  if (need === "credentials" || (kind === "filesystem" && code === "permission")) {
    return CREDENTIALS[kind];
  }
  if (code === "permission") {
    return kind === "b2"
      ? `give the application key the capability ${CAPABILITIES[need]}`
      : `allow ${ACTIONS[need]} to who uses it, unless it is meant to be refused`;
  }
  return code === "address"
    ? "do not keep blobs there before this is understood"
    : "try again; if it stays, see the server's log";
}
