import type { StoreLocation } from "@idk/storage/url";
import { codeOf, type FailureCode, messageOf } from "../errors/failures.ts";
import { type Findings, type Need, NEEDS } from "./probe.ts";

/** A failed check of a store. */
export interface CheckFailure {
  readonly check: Need | "encryption";
  readonly code: FailureCode;
  readonly message: string;
  readonly remedy: string;
}

/** The failed checks, with a remedy for each. */
export function failuresOf({ needs }: Findings, kind: StoreLocation["kind"]): CheckFailure[] {
  const failures: CheckFailure[] = [];
  for (const check of NEEDS) {
    const { ok, error } = needs[check];
    if (ok !== false) continue;
    const code = codeOf(error);
    const message = messageOf(error);
    failures.push({ check, code, message, remedy: remedyFor(check, code, kind) });
  }
  return failures;
}

/** Some servers accept a request for encryption and ignore it. */
export function encryptionFailure(
  { encryption }: Findings,
  location: StoreLocation,
): CheckFailure[] {
  const requested = location.kind === "filesystem" ? undefined : location.encryption?.type;
  if (requested === undefined || encryption === undefined || encryption.startsWith(requested))
    return [];
  const message = `${requested} was requested, but the blob has ${encryption || "none"}`;
  const remedy =
    "remove sse from the URL, or use another store; idk encrypts the content either way";
  return [{ check: "encryption", code: "unavailable", message, remedy }];
}

type Kind = StoreLocation["kind"];

const REACHABLE: Readonly<Record<Kind, string>> = {
  filesystem: "create the folder with idk store init DIR, or by storing a file",
  s3: "check the bucket, the region, the endpoint and the network; create a bucket with idk store init",
  minio: "check host, port, tls and the bucket; create a bucket with idk store init",
  b2: "check the bucket and its region; create a bucket with idk store init",
};

const CREDENTIALS: Readonly<Record<Kind, string>> = {
  filesystem: "run idk as the owner of the folder, or change its mode",
  s3: "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or the profile, and that its policy names this bucket and prefix",
  minio: "check MINIO_ACCESS_KEY and MINIO_SECRET_KEY, and that their policy names this bucket",
  b2: "check B2_ACCESS_KEY_ID and B2_SECRET_ACCESS_KEY: an application key is needed, the master key does not work",
};

/** The policy actions of AWS and MinIO. */
const ACTIONS: Readonly<Partial<Record<Need, string>>> = {
  write: "s3:PutObject",
  read: "s3:GetObject",
  list: "s3:ListBucket",
  delete: "s3:DeleteObject (and s3:DeleteObjectVersion, s3:ListBucketVersions with versions)",
};

/** The capabilities of a B2 application key. */
const CAPABILITIES: Readonly<Partial<Record<Need, string>>> = {
  write: "writeFiles",
  read: "readFiles",
  list: "listFiles",
  delete: "deleteFiles",
};

/** What to do about a failed check. */
export function remedyFor(need: Need, code: FailureCode, kind: Kind): string {
  if (need === "reachable") return REACHABLE[kind];
  if (need === "credentials" || (kind === "filesystem" && code === "permission")) {
    return CREDENTIALS[kind];
  }
  if (code === "permission") {
    return kind === "b2"
      ? `add the capability ${CAPABILITIES[need]} to the application key`
      : `allow ${ACTIONS[need]} in the user's policy, unless it is denied on purpose`;
  }
  return code === "address"
    ? "do not use this store until the cause is found"
    : "try again; if it still fails, check the server's log";
}
