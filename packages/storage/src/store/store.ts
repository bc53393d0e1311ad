import type { Backend } from "../backend/backend.ts";
import type { Content } from "../content/source.ts";
import type { Address } from "../content/address.ts";
import type { Compression } from "../content/compress.ts";
import type { Identity } from "../crypto/keys.ts";
import type { Items } from "./many.ts";
import type { Metadata } from "../format/metadata.ts";
import type { NaCl, NaClChoice } from "../crypto/nacl.ts";
import type { PutJournal } from "./journal.ts";
import type { PutReport } from "./put-report.ts";

/** Encrypted, content-addressed storage over one backend. Made by `createStore`. */
export interface Store {
  /**
   * Seals content for its recipients and stores it; the root last, so that an address that exists
   * is complete. A failed or interrupted put leaves at most unreferenced chunks.
   *
   * @returns the address of the root
   * @throws StorageError `usage`, `key`, `permission`, `unavailable`, `aborted`; an error of the
   *   content's own stream is passed on as it is
   */
  put(content: Content, options?: PutOptions): Promise<Address>;

  /**
   * Stores many contents, several at once. Results come in the order in which they are done, each
   * with the key that its item has. What fails of one content fails its item alone; whoever wants
   * to stop there leaves the loop. Leaving it early ends all work, and so does the signal.
   *
   * No more items are pulled than `concurrency` beyond the results taken, and a result that is not
   * taken keeps its place: whoever is slower sets the pace. Contents over 1 MiB take turns, so that
   * memory is that of one `put` and about 2 MiB for each content in flight; with compression also
   * an encoder for each, of some MiB.
   *
   * @throws StorageError `usage`, `key` where the options are wrong, `aborted`; an error of the
   *   items themselves, after the results of what was begun
   */
  putMany<Key>(items: Items<PutItem<Key>>, options?: PutManyOptions): AsyncIterable<PutResult<Key>>;

  /**
   * Fetches, verifies and opens a root. Chunks are fetched when the handle is read.
   *
   * @throws StorageError `usage`, `not-found`, `permission`, `unavailable`, `aborted`, and the
   *   integrity codes `limit`, `address`, `format`, `no-match`, `commit`, `auth`, `root`; reading
   *   the handle besides `tree` and `encoding`
   */
  get(address: string, options?: GetOptions): Promise<StoredBlob>;

  /**
   * Fetches, verifies and opens many roots, several at once, with results, pace and end as in
   * `putMany`; for a plain address, that is the key. Content of up to 1 MiB has come with its root,
   * and the first reading of the handle takes no request; longer content is fetched when its handle
   * is read, which is possible after the loop as well.
   *
   * @throws StorageError `usage` where the options are wrong, `aborted`; an error of the items
   *   themselves, after the results of what was begun
   */
  getMany(items: Items<string>, options?: GetManyOptions): AsyncIterable<GetResult<string>>;
  getMany<Key>(items: Items<GetItem<Key>>, options?: GetManyOptions): AsyncIterable<GetResult<Key>>;

  /**
   * Opens a root and says what it holds, fetching nothing else. Where the backend can say how it
   * encrypts blobs at rest, that takes one more request, without a download. Throws as `get` does.
   */
  stat(address: string, options?: ReadOptions): Promise<BlobStat>;

  /** Whether the store has a blob of this name: a look at the name, not a proof of its bytes. */
  has(address: string, options?: CallOptions): Promise<boolean>;

  /**
   * Removes one blob. The chunks of a root stay; a chunk removed makes every tree over it
   * unreadable. Resolves also where there is none.
   */
  delete(address: string, options?: CallOptions): Promise<void>;

  /**
   * Removes a root, then the nodes and leaves below it. **Unsafe where chunks are shared**: roots
   * made by `rewrap`, and trees written with the same dedup secret, lose their content. A store
   * with a dedup secret therefore refuses, unless forced.
   *
   * @throws StorageError as `get`, and `usage` where the store deduplicates and `force` is not set
   */
  deleteTree(address: string, options?: DeleteTreeOptions): Promise<DeleteReport>;

  /**
   * Writes a new root over the same chunks, for exactly these recipients, without moving any
   * content. The old root stays readable for the old recipients until it is deleted, and whoever
   * could read it may have kept the keys of the chunks. Delete the old root with `delete`:
   * `deleteTree` would take the chunks with it, which now belong to both.
   *
   * @param recipients 1 to 1024, as text
   * @returns the address of the new root; with a dedup secret and the same recipients, that of the
   *   old one
   * @throws StorageError as `get` and `put`
   */
  rewrap(address: string, recipients: readonly string[], options?: ReadOptions): Promise<Address>;

  /**
   * Reads a blob and checks that its bytes match its name and form an envelope of the format;
   * needs no key. With `deep`, opens a root and checks its whole tree. With `attested`, takes the
   * store's word for bytes of which it kept the SHA-256 at upload, and reads only the others: that
   * finds broken uploads, overwritten blobs and foreign objects, but no bytes that rotted later.
   *
   * @throws StorageError with the code of the first fault; `usage` for both `deep` and `attested`
   */
  verify(address: string, options?: VerifyOptions): Promise<VerifyReport>;

  /**
   * The addresses of all blobs of a tree: nodes and leaves first, the root last. Fetches the root
   * and the nodes on the way. A chunk that occurs twice in the content comes twice.
   *
   * @throws StorageError as `get`
   */
  treeNames(address: string, options?: ReadOptions): AsyncIterable<Address>;

  /**
   * All blobs of the store, roots and chunks alike, in no particular order.
   *
   * @throws StorageError `usage`, `permission`, `unavailable`, `aborted`
   */
  list(options?: ListOptions): AsyncIterable<ListedAddress>;

  /**
   * The address that begins with these digits, for people, who do not type 64 of them: 8 or more, as
   * the store has them now. Chunks count as well as roots. A whole address is given back as it is,
   * without asking the store.
   *
   * @throws StorageError `usage` where it is no beginning of an address, or of several: the message
   *   names up to four; `not-found` where it is the beginning of none; `permission`, `unavailable`,
   *   `aborted`
   */
  resolve(prefix: string, options?: CallOptions): Promise<Address>;

  /**
   * All that a blob shows to whoever has it and no key: so, what the store can see. Fetches the
   * whole blob, at most 16 MiB and a little, checks it as `verify` does, and asks the store what it
   * knows of it.
   *
   * @throws StorageError `usage`, `not-found`, `permission`, `unavailable`, `aborted`, `limit`,
   *   `address`, `format`
   */
  inspect(address: string, options?: CallOptions): Promise<BlobInspection>;

  /**
   * All blobs of the store with what the identities open of them, in the order in which that is
   * found out. Roots are fetched whole, content of up to 1 MiB with them, because metadata is sealed
   * together with it. What is longer than any root is not fetched. Of other blobs of 64 KiB and more
   * only the first 4 KiB are, where the backend can, unless they show a root that opens: whether
   * such a blob is a chunk, or a root for others, is then the store's word.
   *
   * A listing, a request for each blob below 64 KiB, one or two for each up to 2.1 MiB. Memory is
   * about 2 MiB for each in flight.
   *
   * @throws StorageError `usage` where there are no identities or the options are wrong, `key`; of
   *   the listing `permission`, `unavailable`, `aborted`. What fails of one blob is its result
   */
  survey(options?: SurveyOptions): AsyncIterable<SurveyedBlob>;

  /** Ends the store's threads, and lets go of what the backend holds open. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface StoreOptions extends WriteOptions {
  readonly backend: Backend;
  /** Who can read what `put` writes, unless it says otherwise. */
  readonly recipients?: readonly string[] | undefined;
  /** Tried in order when a blob is opened. */
  readonly identities?: readonly Identity[] | undefined;
  /** Which NaCl to use; by default the native one where it loads. */
  readonly nacl?: NaClChoice | NaCl | undefined;
  /**
   * Threads that seal and open the chunks of content of 32 MiB and more, 0 to 64; by default one
   * for each core, at most 8, and none on a single core. 0 keeps all work in this thread, and so
   * does a `nacl` of the caller's own. They start with the first such content, end with `close`,
   * and do not keep the process alive. Each may hold two more chunks in memory. A get opens as many
   * chunks at once as it fetches: to occupy more than four threads, raise `concurrency`.
   */
  readonly workers?: number | undefined;
}

/** How content is cut and sealed; a store's own are the defaults of its calls. */
export interface WriteOptions {
  /** Bytes per chunk: a power of two from 256 KiB to 16 MiB, by default 4 MiB. */
  readonly chunkSize?: number | undefined;
  /** Hide exact lengths by Padmé (at most 12 % more bytes), or not; by default `padme`. */
  readonly padding?: "padme" | "none" | undefined;
  /**
   * Compress content before it is sealed; by default `none`, because compression lets the length
   * tell something about what the content says (docs/threat-model.md), and because compressed
   * content has no ranges and deduplicates as a whole only.
   *
   * - `zstd` takes a runtime that has it: Bun, or Node from 22.15. Level 3.
   * - `lz4` is faster and compresses less; takes the optional package lz4-napi.
   * - `auto` takes zstd, or else lz4, where that saves a tenth: of content up to 1 MiB as a whole,
   *   of longer content in three windows of 64 KiB from its first mebibyte. Otherwise, and where
   *   neither codec is there, content is stored as it is.
   *
   * Memory is some 50 MiB more with zstd, and with lz4 a few hundred (docs/decisions/0010). A codec
   * that is missing is `usage`, before anything is read.
   */
  readonly compression?: Compression | undefined;
  /**
   * 32 random bytes shared by those who deduplicate together: equal content then gives equal
   * blobs, which the store can see (docs/threat-model.md). Where the store attests SHA-256, each
   * blob is looked at first, and not uploaded again if it was received with the right bytes. That
   * does not mend a blob that has rotted since: `delete` it before.
   */
  readonly dedupSecret?: Uint8Array | undefined;
  /**
   * Chunks in flight at once, 1 to 64, by default 4. Memory is about
   * concurrency × chunk size × 3.
   */
  readonly concurrency?: number | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Content handled so far. Of a put, `bytes` counts what the caller gave, before compression: as far
 * as it was read for the chunks that are stored. Of a get, it counts content as it is stored: before
 * decoding, where it is encoded. `total` counts the same, and is there where it is known
 * beforehand; `chunks` counts leaves, 0 for inline content.
 */
export interface Progress {
  readonly bytes: number;
  readonly total?: number;
  readonly chunks: number;
}

export interface PutOptions extends WriteOptions, CallOptions {
  readonly recipients?: readonly string[] | undefined;
  readonly metadata?: Metadata | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /**
   * Continues where an earlier put of the same content stopped: of the leaves that it noted, only
   * those are sent that the store lacks. With a dedup secret that is of use where the store attests
   * nothing, and a note counts only if it was made with the same secret. Content of up to 1 MiB has
   * no leaves.
   */
  readonly journal?: PutJournal | undefined;
  /** Called once, when everything is stored and before the put returns: what was new of it. */
  readonly onReport?: ((report: PutReport) => void) | undefined;
}

/** One of many contents to store. */
export interface PutItem<Key> {
  /** Whatever the caller tells the results apart by; it is handed back and otherwise left alone. */
  readonly key: Key;
  readonly content: Content;
  readonly options?:
    | Pick<PutOptions, "recipients" | "metadata" | "onProgress" | "journal">
    | undefined;
}

/** How all of the contents are cut and sealed; an item's own recipients go before these. */
export interface PutManyOptions extends Omit<WriteOptions, "concurrency">, CallOptions {
  readonly recipients?: readonly string[] | undefined;
  /**
   * Contents in flight at once, 1 to 64, by default 16. How many chunks of one content are in
   * flight, the store's own option says.
   */
  readonly concurrency?: number | undefined;
}

export type PutResult<Key> =
  | {
      readonly ok: true;
      readonly key: Key;
      readonly address: Address;
      readonly report: PutReport;
    }
  | FailedItem<Key>;

/** An item that failed, with what `put` or `get` threw. */
export interface FailedItem<Key> {
  readonly ok: false;
  readonly key: Key;
  readonly error: unknown;
}

export interface ReadOptions extends CallOptions {
  /** Instead of the store's. */
  readonly identities?: readonly Identity[] | undefined;
}

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

export interface BlobStat {
  readonly address: Address;
  /** Bytes of content, decoded. */
  readonly size: number;
  /**
   * Bytes of content as it is stored, encoded as the metadata's `enc` says; absent where it is not
   * encoded.
   */
  readonly encodedSize?: number | undefined;
  readonly metadata: Metadata;
  /** 0 where the content stands in the root, otherwise the levels of the tree: 1 to 3. */
  readonly depth: number;
  /** Bytes per chunk; 0 where the content stands in the root. */
  readonly chunkSize: number;
  /** Leaves of the tree. */
  readonly chunks: number;
  readonly recipients: number;
  /** Zero bytes that hide the length, in the stream of chunks. */
  readonly padding: number;
  /** Bytes of root, nodes and leaves in the store. */
  readonly storedBytes: number;
  /** How the store encrypts the root at rest, in the provider's words; absent where it is silent. */
  readonly encryption?: string | undefined;
}

export interface DeleteTreeOptions extends ReadOptions {
  /** Go ahead although chunks may be shared. */
  readonly force?: boolean | undefined;
  /** Told after each blob that was removed, the root first, how many that makes. */
  readonly onProgress?: ((progress: DeleteReport) => void) | undefined;
}

export interface DeleteReport {
  /** Blobs that were asked to be removed, the root included. */
  readonly blobs: number;
}

export interface VerifyOptions extends ReadOptions {
  /** Open the root and check all that is below it; takes an identity. */
  readonly deep?: boolean | undefined;
  /**
   * Take the store's word where it attests the SHA-256 that a blob had at upload, and read only
   * what it does not vouch for. Finds no bit rot. Not together with `deep`.
   */
  readonly attested?: boolean | undefined;
  /** Chunks checked at once, 1 to 64; by default the store's. */
  readonly concurrency?: number | undefined;
  /** With `deep`: told the content checked so far, as of a get, after each chunk of a tree. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface VerifyReport {
  readonly address: Address;
  /** Undefined where the blob was not read: its name and size do not tell. */
  readonly kind: "root" | "child" | undefined;
  /** Blobs and bytes checked. */
  readonly blobs: number;
  readonly bytes: number;
  /**
   * Whether the store's word was taken: it received bytes whose SHA-256 is the name. False
   * where the bytes were read and checked here, with their envelope.
   */
  readonly attested: boolean;
}

export interface ListOptions extends CallOptions {
  /** Leading hex digits of the addresses. */
  readonly prefix?: string | undefined;
}

export interface ListedAddress {
  readonly address: Address;
  /** Bytes stored. */
  readonly size: number;
  /** When, in milliseconds since 1970, by the store's word; absent where it does not say. */
  readonly storedAt?: number | undefined;
}

export interface SurveyOptions extends ReadOptions {
  /** Leading hex digits of the addresses. */
  readonly prefix?: string | undefined;
  /** Blobs looked at together, 1 to 64, by default 16. */
  readonly concurrency?: number | undefined;
}

/** One blob of a survey. */
export type SurveyedBlob = ListedAddress &
  (
    | {
        /** A root that one of the identities opens. */
        readonly kind: "opened";
        /** Without what the store says of its encryption, which would be a request more. */
        readonly stat: BlobStat;
      }
    | {
        /** A root for others. */
        readonly kind: "closed";
        readonly recipients: number;
      }
    | {
        /** A chunk or node, or at least nothing that can be a root. */
        readonly kind: "child";
      }
    | {
        readonly kind: "failed";
        /** As `get` throws it: `not-found` where it was removed since it was listed. */
        readonly error: unknown;
      }
  );

/** What a blob shows without a key. */
export interface BlobInspection {
  readonly address: Address;
  /** Whether it has recipients, or is a chunk or node of some tree, whose own header is the same. */
  readonly kind: "root" | "child";
  /** Of the format. */
  readonly version: number;
  /** Bytes of the blob: those in front of what is sealed, its tag of 16, and what is sealed. */
  readonly storedBytes: number;
  /** The format's mark, the version and the header. */
  readonly prefixBytes: number;
  /** Bytes sealed: content or references, metadata of a root, and what hides their length. */
  readonly sealedBytes: number;
  /** To the key it was sealed with: 32 bytes that tell nothing of it. */
  readonly commitment: Uint8Array;
  /** Of a root: the public half of a key made for it alone, 32 bytes. */
  readonly ephemeral?: Uint8Array | undefined;
  /** Of a root: how many keys open it, 1 to 1024. Whose they are does not show. */
  readonly recipients?: number | undefined;
  /**
   * Whether the store attests that it received bytes with this address; undefined where it keeps no
   * SHA-256, or that is not known of it yet.
   */
  readonly attested: boolean | undefined;
  /** When it was stored, in milliseconds since 1970, by the store's word. */
  readonly storedAt: number | undefined;
  /** How the store encrypts it at rest, in the provider's words. */
  readonly encryption: string | undefined;
}
