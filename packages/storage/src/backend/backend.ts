import { usage } from "../errors.ts";

/**
 * The contract between the store and the storage that keeps its blobs. A backend handles opaque
 * names and bytes; it never sees keys, formats or content.
 *
 * Rules for every implementation, checked by the suite in `@idk/storage/testing`:
 *
 * - A name is 64 lowercase hexadecimal digits. A backend receives no other names, and its listing
 *   yields no others, whatever other files or objects are stored beside the blobs.
 * - A blob is at most slightly longer than 16 MiB, and is read and written whole.
 * - Writes are atomic and idempotent. When `put` resolves, the bytes are durable under the name;
 *   until then, and after any failure or crash, a reader sees the whole old value or none. If two
 *   writers race for one name, one of them wins entirely.
 * - `put` replaces an existing blob. Whether to skip an upload is the store's decision.
 * - The bytes passed to `put` and the buffer passed to `get` are borrowed: the backend uses them
 *   only until the promise settles, whether it resolves or rejects.
 * - Every failure is a StorageError with the code `not-found`, `limit`, `permission`, `unavailable` or
 *   `address`, with `transient` set if the same call may succeed later, and the original error as
 *   `cause`. `address` is always transient: the server has the blob and cannot return its bytes. A
 *   backend does not retry; `withRetry` does.
 * - A signal that fires ends the call promptly with `aborted` and leaves nothing half-written.
 *
 * A backend may also hold **markers**: names that mean something by being there, such as the heads of
 * snapshots. It then has all of `putMarker`, `listMarkers`, `deleteMarker` and `currentTime`, and the
 * rules above apply to them, with these:
 *
 * - Markers are a namespace of their own, in `heads/` beside the blobs. No call for blobs reads,
 *   lists or changes a marker, and no call for markers a blob.
 * - A marker's name is 32 lowercase hexadecimal digits, `/`, 16 digits, `-` and 64 digits, 114
 *   characters in all. A backend receives no other names. Whatever else is stored in `heads/` is not
 *   a marker and is never yielded.
 * - A marker is stored empty, and what is in it is never read: others may have put something there.
 * - A name can be put again at any time. Writers need no condition on a put to be safe, because they
 *   never choose the same name for different things.
 *
 * Wrap a backend with `wrapBackend`, which keeps the optional methods.
 */
export interface Backend {
  /** For messages: the kind and location, such as `filesystem ./blobs`. Contains no credentials. */
  readonly description: string;

  /**
   * True if reads do not cross a network. A blob that is damaged when read is then damaged on disk,
   * and reading it again is pointless. By default, damage may have happened in transit.
   */
  readonly local?: boolean | undefined;

  /** Stores the bytes under the name, durably. */
  put(name: string, bytes: Uint8Array, options?: PutCallOptions): Promise<void>;

  /**
   * Reads the whole blob into the beginning of `buffer`, whatever the buffer contains.
   *
   * @returns the blob's length
   * @throws StorageError `not-found`; `limit` if the blob is longer than the buffer, without reading
   *   more than the buffer holds
   */
  get(name: string, buffer: Uint8Array, options?: ReadCallOptions): Promise<number>;

  /**
   * Reads the blob's bytes from `offset` on, as many as the buffer holds, and transfers no more than
   * that: to inspect a blob without opening it, or to check that the store has it. A backend without
   * it can only read whole blobs.
   *
   * @param offset an integer, 0 or more
   * @returns the number of bytes read, less than the buffer's length only if the blob ends before; 0
   *   if the offset is at or beyond its end
   * @throws StorageError `not-found`
   */
  getRange?(
    name: string,
    offset: number,
    buffer: Uint8Array,
    options?: ReadCallOptions,
  ): Promise<number>;

  /** What the storage knows about a blob without reading it, or undefined if there is none. */
  head(name: string, options?: CallOptions): Promise<BlobInfo | undefined>;

  /** Deletes a blob permanently. Resolves even if there is none. */
  delete(name: string, options?: CallOptions): Promise<void>;

  /**
   * All blobs whose names start with the prefix, in any order, in bounded memory. Blobs that are
   * written or deleted during the listing may or may not appear.
   */
  list(prefix: string, options?: CallOptions): AsyncIterable<ListedBlob>;

  /**
   * As `list`, but only names greater than `after`. A backend that has this method lists in order
   * of names, here and in `list`, so that an interrupted listing can be resumed.
   */
  listAfter?(prefix: string, after: string, options?: CallOptions): AsyncIterable<ListedBlob>;

  /**
   * What this storage supports, determined once and cached. A backend without it promises nothing
   * beyond plain puts, which are always enough.
   */
  capabilities?(options?: CallOptions): Promise<Capabilities>;

  /**
   * How many milliseconds this machine's clock is ahead of the server's, to the second, according
   * to the last response with a date; negative if it is behind, undefined before the first such
   * response. Makes no request.
   */
  clockAheadMs?(): number | undefined;

  /**
   * Stores a marker, durably. If it is already there, it stays, and whether its time becomes that of
   * this call is up to the storage.
   */
  putMarker?(name: string, options?: CallOptions): Promise<void>;

  /**
   * The markers whose names start with the prefix, in ascending order of names, in bounded memory.
   * Markers that are stored or deleted during the listing may or may not appear; those that remain
   * appear once. With a limit of one, the first marker takes one request that returns one key, as
   * long as nothing but markers is in the way.
   */
  listMarkers?(prefix: string, options?: ListMarkersOptions): AsyncIterable<Marker>;

  /** Deletes a marker permanently. Resolves even if there is none. */
  deleteMarker?(name: string, options?: CallOptions): Promise<void>;

  /**
   * The time now by the clock that dates blobs and markers, in milliseconds since 1970-01-01 00:00
   * UTC, to about a second. It may take a request, and store something for a moment. If the storage
   * does not tell its time, it fails with `unavailable`.
   */
  currentTime?(options?: TimeOptions): Promise<number>;

  /**
   * Prepares URLs with which anyone can read blobs until they expire, without credentials. Makes no
   * request to the store.
   *
   * @throws StorageError `usage` if this store has no such URLs; `permission` if the credentials
   *   have expired
   */
  presign?(options: PresignOptions): Promise<PresignedReads>;

  /** Releases connections and handles. The backend must not be used afterwards. */
  close?(): Promise<void>;
}

/** Options of `presign`. */
export interface PresignOptions extends CallOptions {
  /** Seconds from now, an integer from 1 to 604,800 (7 days), which is what S3 allows. */
  readonly expiresIn: number;
}

/** URLs for reading blobs, all presigned with the same credentials and the same time. */
export interface PresignedReads {
  /** When they expire: earlier than requested if the credentials are known to expire before. */
  readonly expires: Date;
  /**
   * Whether the credentials are temporary. The URLs expire with them, which may be before `expires`
   * if it is not known when that is.
   */
  readonly temporary: boolean;
  /** The URL of a blob. Keep it secret, because anyone who has it can download the blob. */
  urlOf(name: string): string;
}

/** Options of `currentTime`. */
export interface TimeOptions extends CallOptions {
  /** Makes the storage if it does not exist, as `put` does. By default that is an error. */
  readonly create?: boolean | undefined;
}

/** Options of every call. */
export interface CallOptions {
  /** Ends the call promptly with the code `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called by `withRetry` before each delay, so that a caller with many calls in flight makes fewer.
   * Backends ignore it.
   */
  readonly onRetry?: (() => void) | undefined;
}

/** Options of a backend's `get` and `getRange`. */
export interface ReadCallOptions extends CallOptions {
  /**
   * The read can only save work, and the caller does without it if it fails: `withRetry` makes its
   * minimum number of attempts, whatever its budget is. Backends ignore it.
   */
  readonly optional?: boolean | undefined;
  /**
   * Called by a `get` that is in progress with how many bytes are at the beginning of the buffer and stay
   * as they are; with 0 first, and again whenever it starts anew. So the caller can hash them while it
   * waits for others. A backend need not call it. A wrapper that passes it on and then reads from
   * elsewhere calls it with 0 before.
   */
  readonly onReceived?: ((length: number) => void) | undefined;
}

/** Options of a backend's `listMarkers`. */
export interface ListMarkersOptions extends CallOptions {
  /** Yields only names greater than this text, which need not be a name. */
  readonly after?: string | undefined;
  /** Yields at most so many, and requests no more keys than that takes: an integer, 1 or more. */
  readonly limit?: number | undefined;
}

/** Options of a backend's `put`. */
export interface PutCallOptions extends CallOptions {
  /**
   * The SHA-256 of the bytes, 64 lowercase hex digits, if the caller knows it. It lets the storage
   * reject an upload that was damaged in transit and report the checksum later. A backend may
   * ignore it. If it is wrong, either the put fails or the bytes are stored all the same; what
   * `head` reports is correct in either case.
   */
  readonly sha256?: string | undefined;
}

/** What a backend knows about a stored blob without reading it. */
export interface BlobInfo {
  /** Bytes stored. */
  readonly size: number;
  /**
   * The SHA-256 of all stored bytes, 64 lowercase hex digits, if the server keeps one that it
   * computed or verified itself; never one that the adapter or a writer merely claims. If the
   * backend has to test that first, it is present only after `capabilities` has resolved.
   */
  readonly sha256?: string | undefined;
  /** How the blob is encrypted at rest, in the provider's terms, such as `AES256`. */
  readonly encryption?: string | undefined;
  /**
   * When the blob was stored, in milliseconds since 1970-01-01 00:00 UTC, if the storage reports it.
   * It comes from the storage's own clock and cannot be verified.
   */
  readonly storedAt?: number | undefined;
}

/** What a storage supports; see `Backend.capabilities`. */
export interface Capabilities {
  /** `head` returns `sha256`, so that integrity can be checked without a download. */
  readonly verifiesChecksums: boolean;
  /** A put can require that the name is unused. An optimization, never needed for correctness. */
  readonly conditionalPut: boolean;
  /**
   * Deleted or overwritten versions remain until they are deleted by their version IDs. Undefined if the
   * credentials do not permit to find out.
   */
  readonly versions: boolean | undefined;
  /** How new blobs are encrypted at rest, in the provider's terms, or undefined. */
  readonly encryption?: string | undefined;
}

/** An entry of a backend's listing. */
export interface ListedBlob extends BlobInfo {
  readonly name: string;
}

/** An entry of a listing of markers. */
export interface Marker {
  readonly name: string;
  /** When it was stored, by the storage's own clock: milliseconds since 1970-01-01 00:00 UTC. */
  readonly storedAt: number;
}

const NAME = /^[0-9a-f]{64}$/u;
const MARKER_NAME = /^[0-9a-f]{32}\/[0-9a-f]{16}-[0-9a-f]{64}$/u;

/** The folder of markers, beside the blobs. */
export const MARKERS = "heads/";

/** Whether a text has the form of a blob's name. */
export function isBlobName(text: string): boolean {
  return NAME.test(text);
}

/** Whether a text has the form of a marker's name. */
export function isMarkerName(text: string): boolean {
  return MARKER_NAME.test(text);
}

/**
 * Checks a marker's name, which must never lead to another place.
 *
 * @throws StorageError `usage`
 */
export function requireMarkerName(name: string): void {
  if (isMarkerName(name)) return;
  throw usage("a marker's name must be 32 lowercase hexadecimal digits, /, 16, - and 64");
}

/**
 * Checks the limit of a listing of markers.
 *
 * @throws StorageError `usage`
 */
export function requireLimit(limit: number | undefined): void {
  if (limit === undefined || (Number.isSafeInteger(limit) && limit >= 1)) return;
  throw usage("the limit of a listing must be an integer, 1 or more");
}
