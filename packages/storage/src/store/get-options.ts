import type { Address } from "../content/address.ts";
import type { Metadata } from "../format/metadata.ts";
import type { Progress, ReadOptions } from "./options.ts";
import type { FailedItem } from "./put-options.ts";

export interface GetOptions extends ReadOptions {
  /** Bytes of the content to read: start inclusive, end exclusive, both within the content. */
  readonly range?:
    | { readonly start?: number | undefined; readonly end?: number | undefined }
    | undefined;
  /** Chunks fetched at once and ahead, 1 to 64; by default the store's. */
  readonly concurrency?: number | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** One of many roots to open. */
export interface GetItem<Key> extends Pick<GetOptions, "range" | "onProgress"> {
  /** Whatever the caller tells the results apart by; it is handed back and otherwise left alone. */
  readonly key: Key;
  readonly address: string;
}

export interface GetManyOptions extends ReadOptions {
  /**
   * Roots in flight at once, 1 to 64, by default 16. How many chunks of one content are in flight
   * when it is read, the store's own option says.
   */
  readonly concurrency?: number | undefined;
}

export type GetResult<Key> =
  | { readonly ok: true; readonly key: Key; readonly blob: StoredBlob }
  | FailedItem<Key>;

/**
 * A verified and opened root. It can be read any number of times, and each reading fetches what it
 * reads; only content of up to 1 MiB has come with the root, for one reading of it.
 */
export interface StoredBlob {
  readonly address: Address;
  /** Bytes of content, decoded and whole, whatever range was asked for. */
  readonly size: number;
  readonly metadata: Metadata;
  /**
   * The content, or its range, as a web stream. Every chunk is verified before any byte of it is
   * released; on a fault the stream errors after the last good chunk. Cancelling it ends all work,
   * requests in flight included.
   */
  stream(options?: StreamOptions): ReadableStream<Uint8Array<ArrayBuffer>>;
  /**
   * The same in the pieces that it was opened in, whole chunks for the most part, and without a
   * copy: each is lent until the next is asked for, and is then overwritten. For who writes them on
   * at once, and waits for that. Leaving the loop early ends all work.
   */
  chunks(options?: StreamOptions): AsyncIterable<Uint8Array>;
  /**
   * The content in one array, all of it verified.
   *
   * @throws StorageError `usage` where the content is longer than the options allow
   */
  bytes(options?: BytesOptions): Promise<Uint8Array<ArrayBuffer>>;
  /** The content as UTF-8 text; ill-formed sequences become U+FFFD, a byte order mark stays. */
  text(options?: BytesOptions): Promise<string>;
  /**
   * How many leading bytes of the content the caller has already, such as from a download that broke
   * off: whole chunks, each sealed again and compared by its address, so that an equal byte count
   * alone proves nothing and no content is fetched. `stream` continues from there.
   *
   * Encoded content cannot be continued: for it the answer is 0.
   *
   * @returns a multiple of the chunk size, or the content's length; 0 where nothing matches
   * @throws StorageError `usage` where the blob was asked for with a range; what fetching nodes throws
   */
  matchingPrefix(have: ReadAt): Promise<number>;
}

/**
 * Reads bytes that the caller has.
 *
 * @param offset within the content
 * @param into is to be filled; lent until the promise settles
 * @returns how many bytes there were; fewer than there is room for only at the end
 */
export type ReadAt = (offset: number, into: Uint8Array<ArrayBuffer>) => Promise<number>;

export interface StreamOptions {
  /**
   * The first byte to hand out, at most the content's length, by default 0. Not for encoded content,
   * nor together with a range.
   */
  readonly start?: number | undefined;
}

export interface BytesOptions {
  /** Refuse more than this, before fetching; by default 1 GiB. */
  readonly maxBytes?: number | undefined;
  /**
   * Memory of the caller's to put the content into, which is then the result's. Worth it for large
   * content again and again: memory that has been used before costs no first touch. After a
   * failure it may hold some of the chunks, all of them verified.
   */
  readonly into?: Uint8Array<ArrayBuffer> | undefined;
}
