/**
 * The contract between the store and a place that keeps blobs. A backend knows opaque names and
 * bytes; it never sees keys, formats or content.
 *
 * Rules for every implementation, checked by the suite in `@idk/storage/testing`:
 *
 * - A name is 64 lowercase hexadecimal digits. A backend may be asked for nothing else, and its
 *   listing yields nothing else, whatever other files or objects lie beside them.
 * - A blob is at most 16 MiB and a little, and is read and written whole.
 * - Writing is atomic and idempotent. When `put` resolves, the bytes are durable under the name;
 *   until then, and after any failure or crash, a reader sees the whole old value or none. Two
 *   writers of one name may race; one of them wins entirely.
 * - `put` replaces what is there. Whether something may be skipped is the store's decision.
 * - The bytes given to `put` and the buffer given to `get` are lent until the promise settles, and
 *   not touched after it, however it settles.
 * - Every failure is a StorageError: `not-found`, `limit`, `permission` or `unavailable`, with
 *   `transient` set where the same call may succeed later, and the original as `cause`. A backend
 *   does not retry; a decorator around it does.
 * - A signal that fires ends the call promptly with `aborted`, and leaves nothing half-written.
 */
export interface Backend {
  /** For messages: what and where it is, such as `filesystem ./blobs`. No credentials. */
  readonly description: string;

  /**
   * True where bytes are read without crossing a network: a blob that turns out damaged is so where
   * it lies, and nothing is gained by reading it again. By default it may be the way that damages.
   */
  readonly local?: boolean | undefined;

  /** Stores the bytes under the name, durably. */
  put(name: string, bytes: Uint8Array, options?: PutCallOptions): Promise<void>;

  /**
   * Reads the blob into the front of `buffer`, whatever is in it.
   *
   * @returns its length
   * @throws StorageError `not-found`; `limit` where the blob is longer than the buffer, found out
   *   without reading more than the buffer holds
   */
  get(name: string, buffer: Uint8Array, options?: CallOptions): Promise<number>;

  /**
   * As `get`, but of a blob that is longer than the buffer reads its beginning, and no more than the
   * buffer holds crosses the network for it. For who wants to know what a blob is, and not to
   * open it; a backend without it has whole blobs only.
   *
   * @returns how many bytes were read: less than the buffer holds only where that is all of the blob
   * @throws StorageError `not-found`
   */
  getPrefix?(name: string, buffer: Uint8Array, options?: CallOptions): Promise<number>;

  /** What the store knows of a blob without reading it, or undefined where there is none. */
  head(name: string, options?: CallOptions): Promise<BlobInfo | undefined>;

  /** Removes a blob for good. Resolves also where there is none. */
  delete(name: string, options?: CallOptions): Promise<void>;

  /**
   * All blobs whose names begin with the prefix, in no particular order, in bounded memory. Blobs
   * written or removed meanwhile may or may not show.
   */
  list(prefix: string, options?: CallOptions): AsyncIterable<ListedBlob>;

  /**
   * As `list`, but only names behind this one. A backend that has it lists in the order of names,
   * here and in `list`, so that a listing that broke off can go on where it was.
   */
  listAfter?(prefix: string, after: string, options?: CallOptions): AsyncIterable<ListedBlob>;

  /**
   * What this place can do, found out once and remembered. A backend without it promises none of
   * it, and nothing but plain puts is ever needed.
   */
  capabilities?(options?: CallOptions): Promise<Capabilities>;

  /**
   * By how many milliseconds this machine's clock was ahead of the store's at the last answer that
   * said what time it is there, to the second; negative where it was behind. Undefined as long as
   * none did. Asks for nothing.
   */
  clockAheadMs?(): number | undefined;

  /** Lets go of connections and handles. The backend is not used afterwards. */
  close?(): Promise<void>;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface PutCallOptions extends CallOptions {
  /**
   * The SHA-256 of the bytes, 64 lowercase hex digits, where the caller knows it: for the store to
   * refuse an upload that was damaged on its way, and to attest the blob later. A backend may do
   * without. Where it is wrong, the put fails or the bytes are stored all the same; what `head`
   * attests is right in any case.
   */
  readonly sha256?: string | undefined;
}

export interface BlobInfo {
  /** Bytes stored. */
  readonly size: number;
  /**
   * The SHA-256 of all the bytes stored, 64 lowercase hex digits, where the store itself keeps one
   * that it has computed or checked; never one that the adapter or a writer merely claims. Where
   * that has to be found out, only from the answer of `capabilities` on.
   */
  readonly sha256?: string | undefined;
  /** How the store encrypts this blob at rest, in the provider's words, such as `AES256`. */
  readonly encryption?: string | undefined;
  /**
   * When the blob was stored, in milliseconds since 1970-01-01 00:00 UTC, where the store says so: by
   * its own clock, and its own word.
   */
  readonly storedAt?: number | undefined;
}

export interface Capabilities {
  /** `head` gives `sha256`, so that integrity can be attested without a download. */
  readonly verifiesChecksums: boolean;
  /** The store can write only where nothing is. An economy, never needed for being right. */
  readonly conditionalPut: boolean;
  /** Old versions stay after a delete or an overwrite, until they are removed by their ids. */
  readonly versions: boolean;
  /** How new blobs are encrypted at rest, in the provider's words, or undefined. */
  readonly encryption?: string | undefined;
}

export interface ListedBlob extends BlobInfo {
  readonly name: string;
}

const NAME = /^[0-9a-f]{64}$/u;

/** Whether a text has the form of a blob's name. */
export function isBlobName(text: string): boolean {
  return NAME.test(text);
}
