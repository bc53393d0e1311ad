import type { ErrorCode } from "../../errors.ts";

/** What an error response means for the caller. */
export interface ErrorMeaning {
  readonly code: Extract<ErrorCode, "not-found" | "permission" | "unavailable">;
  readonly transient?: boolean;
  /** What happened and what to do. By default the server's own code and message. */
  readonly explanation?: string;
}

function denied(explanation: string): ErrorMeaning {
  return { code: "permission", explanation };
}

const transient: ErrorMeaning = { code: "unavailable", transient: true };

const busy: ErrorMeaning = { ...transient, explanation: "the store is busy; try again later" };

const damaged: ErrorMeaning = {
  ...transient,
  explanation: "the upload was damaged or truncated in transit; try again",
};

const full: ErrorMeaning = {
  code: "unavailable",
  explanation: "the store is full; free or buy space",
};

const quota: ErrorMeaning = {
  code: "unavailable",
  explanation: "the bucket's quota is used up; delete blobs, or raise the quota",
};

const missing: ErrorMeaning = { code: "not-found", explanation: "it does not exist" };

const expired = denied("the temporary credentials have expired; sign in again");

/**
 * By the error code of S3, MinIO, B2 or versitygw. A map, because the code comes from the server and
 * may be a name that every object inherits, such as `constructor`.
 */
const BY_CODE: ReadonlyMap<string, ErrorMeaning> = new Map(
  Object.entries({
    NoSuchKey: missing,
    NoSuchVersion: missing,
    InvalidBucketName: {
      code: "unavailable",
      explanation:
        "the name of the bucket is not valid: it must be 3 to 63 lower-case letters, digits, dots and hyphens",
    },
    InvalidAccessKeyId: denied(
      "the access key is unknown or disabled; check it, or create a new one",
    ),
    ExpiredToken: expired,
    ExpiredTokenException: expired,
    TokenRefreshRequired: expired,
    InvalidToken: denied("the session token is malformed; sign in again"),
    InvalidTokenId: denied("the session token does not match the access key; sign in again"),
    SignatureDoesNotMatch: denied(
      "the signature does not match; check that access key and secret key are complete and belong together, and that the region is right",
    ),
    AccountProblem: denied("the provider reports a problem with the account; contact the provider"),
    NotSignedUp: denied("the account is not signed up for this service"),
    XAmzContentSHA256Mismatch: damaged,
    XAmzContentChecksumMismatch: damaged,
    BadDigest: damaged,
    InvalidDigest: damaged,
    IncompleteBody: damaged,
    RequestTimeout: { ...transient, explanation: "the upload took too long; try again" },
    SlowDown: busy,
    // MinIO also returns it if its disks return other data than was written; see `getBlob`.
    SlowDownRead: {
      ...transient,
      explanation: "the store is busy or cannot read the object; try again later",
    },
    SlowDownWrite: busy,
    Throttling: busy,
    ThrottlingException: busy,
    TooManyRequests: busy,
    RequestLimitExceeded: busy,
    BandwidthLimitExceeded: busy,
    "KMS.ThrottlingException": busy,
    OperationAborted: busy,
    ConditionalRequestConflict: busy,
    // A new bucket, until every server knows its name.
    TemporaryRedirect: busy,
    XMinioStorageFull: full,
    XMinioAdminBucketQuotaExceeded: quota,
    QuotaExceeded: quota,
    InsufficientStorage: full,
    InvalidObjectState: {
      code: "unavailable",
      explanation: "the blob is in an archive tier; restore it with the provider's tools first",
    },
  }),
);

/** By HTTP status, if the code is unknown or missing, as in every response to HEAD. */
const BY_STATUS: Readonly<Record<number, ErrorMeaning>> = {
  401: denied("the credentials are not accepted; check them"),
  404: missing,
  408: transient,
  425: transient,
  429: busy,
  503: busy,
  507: full,
  // What a server does not support, it does not support on the next attempt either.
  501: { code: "unavailable" },
  505: { code: "unavailable" },
};

export function errorMeaning(status: number, code: string, message: string): ErrorMeaning {
  // B2 returns 403 AccessDenied if a cap that the account's owner has set is reached.
  if (/\bcap exceeded\b/iu.test(message)) {
    return {
      code: "unavailable",
      explanation: "a cap of the account is reached; raise it in the provider's settings",
    };
  }
  const known = BY_CODE.get(code);
  if (known !== undefined) return known;
  if ((status < 500 || status === 501) && /kms|encrypt/iu.test(`${code} ${message}`)) {
    return {
      code: status === 403 ? "permission" : "unavailable",
      explanation: `the store cannot encrypt or decrypt as requested; check the encryption option and its key (${message})`,
    };
  }
  if (status === 403) {
    return denied(
      "the credentials do not allow it; check their policy (some stores also respond this way if the object does not exist)",
    );
  }
  if (status === 400 && code === "") {
    return {
      code: "unavailable",
      explanation:
        "the store rejected the request without a reason (400); check the name of the bucket, that the credentials have not expired, and the SSE-C key if the blob has one",
    };
  }
  return BY_STATUS[status] ?? (status >= 500 ? transient : { code: "unavailable" });
}
