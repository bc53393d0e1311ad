import type { Address } from "../crypto/address.ts";
import type { Content } from "../content/byte-reader.ts";
import type { GetItem, GetManyOptions, GetResult } from "./read/get-many.ts";
import type { GetOptions } from "./read/get.ts";
import type { StoredContent } from "./read/stored-content.ts";
import type { Items } from "./items.ts";
import type { CallOptions, ReadOptions } from "./options.ts";
import type { PutItem, PutManyOptions, PutResult } from "./write/put-many.ts";
import type { PutOptions } from "./write/put.ts";
import type { BlobInspection } from "./maintenance/inspect.ts";
import type { BlobStat } from "./maintenance/stat.ts";
import type { DeleteReport, DeleteTreeOptions } from "./tree/delete-tree.ts";
import type { ResealOptions } from "./tree/reseal.ts";
import type { ListOptions, ListedAddress, ResolveOptions } from "./maintenance/list.ts";
import type { ScanOptions, ScannedBlob } from "./maintenance/scan.ts";
import type { VerifyOptions, VerifyReport } from "./maintenance/verify-options.ts";

/*
 * Words, as in docs/format.md. A blob is the encrypted bytes of a root, node or leaf; its address is
 * their SHA-256. It consists of "IDK", the version, the header's length, the header, the tag and the
 * ciphertext (format/envelope.ts). To seal is to encrypt a plaintext and put a header before it; to
 * open is the reverse. Content over 1 MiB is cut into leaves, which the public API calls chunks;
 * shorter content is inline in its root. Leaves and nodes are children. Every blob has its own
 * content key; HKDF derives the encryption key from it. A reference is the address and
 * content key of a child; a node has up to 4096 references. A root has the metadata and the top
 * level's references, and its content key is wrapped for each recipient (a public key), to be
 * unwrapped with the identity (the secret key). "Store" is the object below. A backend is the code
 * that passes blobs to a server or a folder, which keeps the bytes.
 *
 * The steps, with their functions and files, in this folder or in src:
 *
 * put          write/put.ts             check options; read content; inline or tree
 *   compress   encodeContent            content/compression/compress.ts
 *   cut        sealLeaves, sealLeaf     write/seal-leaves.ts, write/seal-child.ts: content keys
 *   seal       sealChild, sealRoot      crypto/seal.ts, with keys from crypto/key-schedule.ts
 *   upload     storeBlob                write/store-blob.ts
 *   references createTreeWriter         write/tree-writer.ts: for the root; over 4096, stores nodes
 *   root       writeRoot, encodeRoot    write/write-root.ts, format/root.ts; last of all
 *
 * get          read/get.ts              fetch the root; content is fetched when it is read
 *   root       borrowRoot, openRoot     read/read-root.ts, crypto/seal.ts; unwraps the content key
 *   handle     createStoredContent      read/stored-content.ts: stream, chunks, bytes, text
 *   content    treeContent              read/content-reader.ts: ranges
 *   walk       leavesIn                 tree/walk.ts: opens the nodes above the leaves
 *   leaves     readLeaves, fetchChild   read/read-leaves.ts, read/fetch.ts: download, verify, open
 *
 * S3 server    putBlob, getBlob         backend/s3/objects/upload.ts, download.ts
 *   HTTP       sendRequest              backend/s3/http/requests.ts: one signed request
 */

/** Encrypted, content-addressed storage over one backend. Create it with `createStore`. */
export interface Store {
  /**
   * Seals content for its recipients and stores it. The root is written last, so that an address
   * that exists is complete. A failed or interrupted put leaves at most unreferenced chunks.
   *
   * @returns the address of the root
   * @throws StorageError `usage`, `key`, `permission`, `unavailable`, `aborted`; an error of the
   *   content's own stream is passed on unchanged
   */
  put(content: Content, options?: PutOptions): Promise<Address>;

  /**
   * Stores many contents concurrently and yields each result, with its item's key, as it completes.
   * A failed item does not stop the others. Leaving the loop early, or the signal, ends all work.
   *
   * At most `concurrency` items are pulled beyond the results taken, so a slow consumer slows the
   * work down. Contents over 1 MiB are stored one at a time, so that memory is that of one `put`
   * plus about 2 MiB per content in flight; compression adds an encoder of some MiB for each.
   *
   * @throws StorageError `usage`, `key` if the options are wrong, `aborted`. If the items themselves
   *   throw, the results of the items already started come first, then that error
   */
  putMany<Key>(items: Items<PutItem<Key>>, options?: PutManyOptions): AsyncIterable<PutResult<Key>>;

  /**
   * Fetches, verifies and opens a root. Chunks are fetched when the returned content is read.
   *
   * @throws StorageError `usage`, `not-found`, `permission`, `unavailable`, `aborted`, and the
   *   integrity codes `limit`, `address`, `format`, `no-match`, `commit`, `auth`, `root`; reading
   *   the content can also throw `tree` and `encoding`
   */
  get(address: string, options?: GetOptions): Promise<StoredContent>;

  /**
   * Fetches, verifies and opens many roots concurrently. Results, back-pressure and early exit work
   * the same way as in `putMany`; if an item is a plain address, that is also its key. Content of up
   * to 1 MiB arrives with its root, and the first read of it makes no request. Longer content is
   * fetched when it is read, which may be after the loop.
   *
   * @throws StorageError `usage` if the options are wrong, `aborted`. If the items themselves throw,
   *   the results of the items already started come first, then that error
   */
  getMany(items: Items<string>, options?: GetManyOptions): AsyncIterable<GetResult<string>>;
  /** As above, for items with keys of your own, ranges and progress. */
  getMany<Key>(items: Items<GetItem<Key>>, options?: GetManyOptions): AsyncIterable<GetResult<Key>>;

  /**
   * Opens a root and returns its properties without fetching any content. If the backend can report
   * encryption at rest, that takes one HEAD request more. Throws as `get` does.
   */
  stat(address: string, options?: ReadOptions): Promise<BlobStat>;

  /** Whether a blob of this name exists. Does not check its bytes. */
  has(address: string, options?: CallOptions): Promise<boolean>;

  /**
   * Deletes one blob; resolves if there is none. Deleting a root leaves its chunks; deleting a chunk
   * makes every tree that contains it unreadable.
   */
  delete(address: string, options?: CallOptions): Promise<void>;

  /**
   * Deletes a root, then the leaves and nodes below it. **Unsafe if chunks are shared**: roots made
   * by `rewrap`, and trees written with the same dedup secret, lose their content. A store with a
   * dedup secret therefore refuses unless `force` is set.
   *
   * Anyone who knows a recipient can write a root that refers to other people's blobs. A blob is
   * therefore deleted only if the tree has its key, and never if it is a root; others are skipped and
   * reported. Someone who can read a chunk has its key, and can write a root that shares it.
   *
   * Takes one ranged read of 59 bytes and one DELETE for each distinct leaf; a backend without ranged
   * reads downloads the leaf. Memory is about 100 bytes for each distinct blob of the tree.
   *
   * @throws StorageError as `get`; `usage` if the store deduplicates and `force` is not set, or if
   *   `confirm` returns false
   */
  deleteTree(address: string, options?: DeleteTreeOptions): Promise<DeleteReport>;

  /**
   * Writes a new root over the same chunks, for exactly these recipients, without copying content.
   *
   * This adds readers; it does not take the content away from anyone. Recipients of the old root can
   * keep reading what they could read, even after it is deleted: the chunks keep their keys, and a
   * kept copy of the old root opens them all. Only new content is closed to them. `reseal` gives the
   * content new keys.
   *
   * Delete the old root with `delete`: `deleteTree` would also delete the chunks, which both roots now
   * share.
   *
   * @param recipients 1 to 1024, as text
   * @returns the address of the new root; with a dedup secret and the same recipients, the address
   *   of the old one
   * @throws StorageError as `get` and `put`
   */
  rewrap(address: string, recipients: readonly string[], options?: ReadOptions): Promise<Address>;

  /**
   * Reads content and writes it again under new keys, for exactly these recipients: the keys of the
   * old root open none of the new blobs. Metadata, chunk size, padding and compression stay as they
   * are. Takes the memory of a get and a put together, and a GET and a PUT for each chunk.
   *
   * The old root and its chunks stay, because other roots may share them; until they are deleted, with
   * `deleteTree`, their readers can read them. No one can be made to forget what they have read.
   *
   * With a dedup secret, equal content gives equal keys. The call therefore fails if the content was
   * written with the same secret: pass another one.
   *
   * @param recipients 1 to 1024, as text
   * @returns the address of the new root
   * @throws StorageError as `get` and `put`; `usage` if the dedup secret or the journal would keep
   *   the key of a chunk
   */
  reseal(address: string, recipients: readonly string[], options?: ResealOptions): Promise<Address>;

  /**
   * Reads a blob and checks that its bytes match its name and form a valid envelope; needs no key.
   * With `deep`, opens a root and checks its whole tree. With `complete`, opens a root and checks that
   * no chunk is missing, without downloading chunks. With `serverChecksums`, relies on the
   * SHA-256 that the server verified at upload, and downloads only blobs that have none: this finds
   * broken uploads, overwritten blobs and foreign objects, but not bytes that rotted later.
   *
   * @throws StorageError with the code of the first fault; `usage` if more than one of `deep`,
   *   `complete` and `serverChecksums` is set
   */
  verify(address: string, options?: VerifyOptions): Promise<VerifyReport>;

  /**
   * The addresses of all blobs of a tree: nodes and leaves first, the root last. Fetches the root
   * and the nodes. A chunk that occurs twice in the content is listed twice.
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
   * Finds the address that starts with these digits among the roots and chunks in the store now; 20
   * or more, because fewer can be forged: see `minDigits`. A complete address is returned without a
   * request.
   *
   * @throws StorageError `usage` if it is too short, cannot be the start of an address, or is the
   *   start of several (the message names up to four); `not-found` if no address starts with it;
   *   `permission`, `unavailable`, `aborted`
   */
  resolve(prefix: string, options?: ResolveOptions): Promise<Address>;

  /**
   * Everything a blob reveals without a key, which is what the server can see. Downloads the whole
   * blob, slightly over 16 MiB at most, checks it as `verify` does, and makes a HEAD request.
   *
   * @throws StorageError `usage`, `not-found`, `permission`, `unavailable`, `aborted`, `limit`,
   *   `address`, `format`
   */
  inspect(address: string, options?: CallOptions): Promise<BlobInspection>;

  /**
   * Lists all blobs of the store together with what the identities can open of them, in order of
   * completion. Roots are downloaded whole, with their content of up to 1 MiB, because metadata is
   * sealed together with it. Blobs longer than any root are not downloaded. Of other blobs of 64 KiB
   * and more, only the first 4 KiB are read if the backend supports it, unless they are the start of
   * a root that opens; so that such a blob is a chunk, or a root for others, is not verified.
   *
   * Makes one listing, one request for each blob below 64 KiB, and one or two for each up to
   * 2.1 MiB. Memory is about 2 MiB for each longer blob in flight.
   *
   * @throws StorageError `usage` if there are no identities or the options are wrong, `key`; from
   *   the listing `permission`, `unavailable`, `aborted`. A blob that fails is reported as a result
   */
  scan(options?: ScanOptions): AsyncIterable<ScannedBlob>;

  /**
   * Ends the store's threads and closes the backend. Wait for calls in progress first: those that
   * use threads fail with `aborted`, and so do such calls afterwards.
   */
  close(): Promise<void>;
  /** As `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
