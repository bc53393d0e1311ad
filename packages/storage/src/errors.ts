/**
 * What went wrong: a closed set that callers can switch on.
 *
 * Integrity, in the order a reader checks (docs/format.md, "Reading"):
 * - `limit`     more bytes than the format allows for this blob
 * - `address`   the bytes do not hash to the address; `transient` if only the server reports that they
 *               are damaged
 * - `format`    the envelope or header is malformed or not canonical
 * - `no-match`  none of the identities opens the blob
 * - `commit`    the content key does not match the header's commitment
 * - `auth`      the body does not authenticate
 * - `root`      the root's plaintext is malformed
 * - `tree`      a child's length or padding does not fit the tree, or a part of a snapshot is malformed
 * - `encoding`  the content does not decode as its metadata says
 * - `head`      the head of a chain of snapshots does not count
 * - `rollback`  the newest head of a chain is older than one seen before
 *
 * Everything else:
 * - `not-found`    the backend has no such blob
 * - `permission`   the server or the file system refused
 * - `unavailable`  the server could not be reached, failed, or is full; nothing to back up can be read
 * - `aborted`      the caller's signal fired
 * - `key`          a recipient, identity or identity file is malformed
 * - `passphrase`   the passphrase does not open the identity file
 * - `usage`        the call itself is wrong
 */
export type ErrorCode =
  | "limit"
  | "address"
  | "format"
  | "no-match"
  | "commit"
  | "auth"
  | "root"
  | "tree"
  | "encoding"
  | "head"
  | "rollback"
  | "not-found"
  | "permission"
  | "unavailable"
  | "aborted"
  | "key"
  | "passphrase"
  | "usage";

/** What a `StorageError` carries besides code and message. */
export interface StorageErrorOptions {
  /** The error that caused this one; kept as `cause`. */
  readonly cause?: unknown;
  /** True if the same call may succeed later. Set by backends, read by retry policies. */
  readonly transient?: boolean;
  /** How long the server asks callers to wait before retrying, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/** The only error class this library throws. Its message never contains a secret. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly code: ErrorCode;
  readonly transient: boolean;
  declare readonly retryAfterMs?: number;

  constructor(code: ErrorCode, message: string, options: StorageErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.transient = options.transient ?? false;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
  }
}

/** An error for a wrong call, which the caller has to change. */
export function usage(message: string): StorageError {
  return new StorageError("usage", message);
}

/** Whether a blob did not fit into its buffer. */
export function isTooLong(error: unknown): boolean {
  return error instanceof StorageError && error.code === "limit";
}
