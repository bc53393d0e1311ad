import type { ErrorCode } from "../../errors.ts";

/** What to make of an error that the store answers with. */
export interface Meaning {
  readonly code: Extract<ErrorCode, "not-found" | "permission" | "unavailable">;
  readonly transient?: boolean;
  /** What happened and what to do. Without it, the store's own words. */
  readonly says?: string;
}

function refused(says: string): Meaning {
  return { code: "permission", says };
}

const passing: Meaning = { code: "unavailable", transient: true };

const busy: Meaning = { ...passing, says: "the store is busy; try again later" };

const damaged: Meaning = {
  ...passing,
  says: "the upload was damaged or cut short on its way; try again",
};

const full: Meaning = { code: "unavailable", says: "the store is full; free or buy space" };

const missing: Meaning = { code: "not-found", says: "there is none" };

const expired = refused("the temporary credentials have expired; sign in again");

/** By the code in the body of the answer: of S3, MinIO, B2, versitygw. */
const BY_CODE: Readonly<Record<string, Meaning>> = {
  NoSuchKey: missing,
  NoSuchVersion: missing,
  InvalidAccessKeyId: refused(
    "the access key is unknown or disabled; check it, or create a new one",
  ),
  ExpiredToken: expired,
  ExpiredTokenException: expired,
  TokenRefreshRequired: expired,
  InvalidToken: refused("the session token is malformed; sign in again"),
  InvalidTokenId: refused("the session token does not fit the access key; sign in again"),
  SignatureDoesNotMatch: refused(
    "the secret key does not fit the access key; check that both are whole and of one pair",
  ),
  AccountProblem: refused("the provider has a problem with the account; ask it"),
  NotSignedUp: refused("the account is not signed up for this service"),
  XAmzContentSHA256Mismatch: damaged,
  XAmzContentChecksumMismatch: damaged,
  BadDigest: damaged,
  InvalidDigest: damaged,
  IncompleteBody: damaged,
  RequestTimeout: { ...passing, says: "the upload took too long; try again" },
  SlowDown: busy,
  // MinIO answers so, too, where its disks do not give back what they were given.
  SlowDownRead: { ...passing, says: "the store is busy, or the object is unreadable there" },
  SlowDownWrite: busy,
  Throttling: busy,
  ThrottlingException: busy,
  TooManyRequests: busy,
  RequestLimitExceeded: busy,
  BandwidthLimitExceeded: busy,
  "KMS.ThrottlingException": busy,
  OperationAborted: busy,
  ConditionalRequestConflict: busy,
  // A newly made bucket, until its name has reached every server.
  TemporaryRedirect: busy,
  XMinioStorageFull: full,
  XMinioAdminBucketQuotaExceeded: { code: "unavailable", says: "the bucket's quota is used up" },
  QuotaExceeded: { code: "unavailable", says: "the bucket's quota is used up" },
  InsufficientStorage: full,
  InvalidObjectState: {
    code: "unavailable",
    says: "the blob was moved to an archive; restore it there first",
  },
};

/** By the HTTP status, where the code says nothing, or there is none as with HEAD. */
const BY_STATUS: Readonly<Record<number, Meaning>> = {
  401: refused("the credentials are not accepted; check them"),
  404: missing,
  408: passing,
  425: passing,
  429: busy,
  503: busy,
  507: full,
  // What a server cannot do it will not be able to do on the next attempt.
  501: { code: "unavailable" },
  505: { code: "unavailable" },
};

export function meaningOf(status: number, code: string, message: string): Meaning {
  // B2 has it as 403 AccessDenied; the caps are set by the owner of the account.
  if (/\bcap exceeded\b/iu.test(message)) {
    return {
      code: "unavailable",
      says: "a cap of the account is reached; raise it in the provider's settings",
    };
  }
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if ((status < 500 || status === 501) && /kms|encrypt/iu.test(`${code} ${message}`)) {
    return {
      code: status === 403 ? "permission" : "unavailable",
      says: `the store cannot encrypt or decrypt as asked; check the encryption option and its key (${message})`,
    };
  }
  if (status === 403) {
    return refused(
      "the credentials do not allow it; check their policy (some stores answer so also where nothing is)",
    );
  }
  if (status === 400 && code === "") {
    return {
      code: "unavailable",
      says: "the store finds the request bad and does not say why (400); check that the credentials have not expired, and the SSE-C key if the blob has one",
    };
  }
  return BY_STATUS[status] ?? (status >= 500 ? passing : { code: "unavailable" });
}
