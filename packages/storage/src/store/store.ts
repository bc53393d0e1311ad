import type { Address } from "../content/address.ts";
import type { Content } from "../content/byte-reader.ts";
import type { GetItem, GetManyOptions, GetResult } from "./read/get-many.ts";
import type { GetOptions } from "./read/get.ts";
import type { StoredBlob } from "./read/stored-blob.ts";
import type { Items } from "./items.ts";
import type { CallOptions, ReadOptions } from "./options.ts";
import type { PutItem, PutManyOptions, PutResult } from "./write/put-many.ts";
import type { PutOptions } from "./write/put.ts";
import type { BlobInspection } from "./maintenance/inspect.ts";
import type { BlobStat } from "./maintenance/stat.ts";
import type { DeleteReport, DeleteTreeOptions } from "./tree/delete-tree.ts";
import type { ListOptions, ListedAddress } from "./maintenance/list.ts";
import type { ScanOptions, ScannedBlob } from "./maintenance/scan.ts";
import type { VerifyOptions, VerifyReport } from "./maintenance/verify.ts";

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
  treeAddresses(address: string, options?: ReadOptions): AsyncIterable<Address>;

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
  scan(options?: ScanOptions): AsyncIterable<ScannedBlob>;

  /** Ends the store's threads, and lets go of what the backend holds open. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
