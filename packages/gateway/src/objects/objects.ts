import type { Checksums, ObjectIdentity } from "./identity.ts";
import type { ManifestContent } from "./content.ts";

/*
 * What this room asks of the catalog (catalog/catalog.ts), in the order of a PUT:
 *
 * 1. begin: a seq, and, with a condition, the claim on the key (409, 412). One call.
 * 2. writing: registers a write that lasts more than a minute, with its start; heartbeats; its end.
 *    The sweep spares blobs stored after the start of the oldest live one.
 * 3. commit: row (identity, address of the identity root, content as an opaque BLOB) together with
 *    the list of {address, leaves} of its content roots, which are counted by address, because
 *    copies share them. Answers applied, superseded (a higher seq, also that of a deleted row, is
 *    there: the new root becomes garbage), or fails because the condition or claim is gone.
 * 4. garbage: batches of {address, leaves} whose time has come; done(addresses). Identity roots at
 *    once, content an hour after the last reference went. One collector at a time.
 * 5. reachable(from, to): all addresses from..to that anything refers to (identity roots, content
 *    roots and their leaves, parts of uploads, buckets, snapshots, tombstones), in pages.
 */

/** The conditions of a write. */
export interface WriteCondition {
  /** An ETag without quotes, or `*`. */
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

/** What is known of a body once it has ended and every check of it has passed. */
export interface BodyDigests {
  /** MD5 of all bytes, 16 bytes. */
  readonly md5: Uint8Array;
  readonly checksums?: Checksums | undefined;
}

/** A body on its way in. */
export interface IncomingBody {
  /**
   * The decoded bytes. Throws at its end, before it reports the end, if a length, digest, checksum
   * or signature is wrong. It must not read from its socket ahead of what is pulled. A piece may be
   * reused once the next one is pulled.
   */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Bytes, if the client declared it. A hint for memory. */
  readonly length?: number | undefined;
  /** Called once, after `bytes` has ended without an error. */
  digests(): BodyDigests | Promise<BodyDigests>;
}

/** What the client names and sets of an object to write. */
export interface ObjectTarget {
  readonly bucket: string;
  readonly key: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly tags?: Readonly<Record<string, string>> | undefined;
  readonly condition?: WriteCondition | undefined;
}

/** A request to `putObject`. */
export interface PutRequest extends ObjectTarget {
  readonly body: IncomingBody;
  readonly signal?: AbortSignal | undefined;
}

/** A part to store. */
export interface PutPartRequest {
  readonly uploadId: string;
  /** 1 to 10,000. */
  readonly number: number;
  readonly body: IncomingBody;
  readonly signal?: AbortSignal | undefined;
}

/** An object of the catalog, as much of it as reading and copying need. */
export interface StoredObject extends ObjectIdentity {
  /** The address of the identity root, 64 lowercase hex digits. */
  readonly address: string;
  /** Undefined if the content is inline in the identity root. */
  readonly content?: ManifestContent | undefined;
}

/** A range of bytes: start inclusive, end exclusive, both within the content. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A part that was stored. */
export interface StoredPart {
  readonly number: number;
  readonly size: number;
  /** MD5, 32 hex digits. */
  readonly etag: string;
  readonly checksums?: Checksums | undefined;
  readonly time: number;
}

/** A part that Complete names. */
export interface PartToComplete {
  readonly number: number;
  /** Without quotes. */
  readonly etag: string;
  readonly checksum?: string | undefined;
}

/** A request to `completeUpload`. The operation has checked order, sizes and digests. */
export interface CompleteRequest {
  readonly uploadId: string;
  readonly parts: readonly PartToComplete[];
  /** Of all parts together: MD5 of MD5s with `-N`. */
  readonly etag: string;
  readonly checksums?: Checksums | undefined;
  readonly condition?: WriteCondition | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A request to `copyObject`. */
export interface CopyRequest extends ObjectTarget {
  readonly source: StoredObject;
  /** By default those of the source. */
  readonly checksums?: Checksums | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A request to `copyPart`. */
export interface CopyPartRequest {
  readonly uploadId: string;
  readonly number: number;
  readonly source: StoredObject;
  /** By default all of the source. */
  readonly range?: ByteRange | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A key to delete. */
export interface DeleteTarget {
  readonly key: Uint8Array;
  readonly ifMatch?: string | undefined;
}

/**
 * Objects as sealed blobs. All calls throw `S3Error`, or the error of the body they were given.
 *
 * Memory comes from one budget for the process: a call waits, without reading from its body, until
 * there is room, and gives its share back while its client stalls and others wait.
 */
export interface Objects {
  /** Whether there is an identity to read with. */
  readonly canRead: boolean;
  /**
   * Stores a body under a key. Nothing is left if the body fails; a refused condition fails before
   * anything is stored.
   */
  putObject(request: PutRequest): Promise<StoredObject>;
  /** Stores a part of an upload. A part of the same number is replaced. */
  putPart(request: PutPartRequest): Promise<StoredPart>;
  /** Writes the manifest of the parts; moves no data. Idempotent for a day. */
  completeUpload(request: CompleteRequest): Promise<StoredObject>;
  /**
   * Copies an object: a manifest over the same content, or inline content sealed anew. Source and
   * target may be the same key, with other headers or tags. Time and seq are new.
   *
   * @throws S3Error `AccessDenied` for inline content without an identity
   */
  copyObject(request: CopyRequest): Promise<StoredObject>;
  /**
   * Makes a part of content that is stored: shares it if the range begins and ends where content
   * roots do, and stores it again otherwise.
   *
   * @throws S3Error `AccessDenied` without an identity, because the ETag needs the bytes' MD5
   */
  copyPart(request: CopyPartRequest): Promise<StoredPart>;
  /**
   * Deletes keys of a bucket, in one transaction for a batch, and stores a tombstone for those that
   * existed before it resolves.
   *
   * @returns in the order of the targets, the object that was deleted, if there was one, or the error
   */
  deleteObjects(
    bucket: string,
    targets: readonly DeleteTarget[],
  ): Promise<readonly (StoredObject | undefined | Error)[]>;
  /**
   * The bytes of a range, each piece valid until the next is requested, verified before they are
   * released. A read that has begun survives overwrites and deletion for an hour. Leave the loop
   * early, or fire the signal, to cancel it.
   *
   * @throws S3Error `AccessDenied` without an identity
   */
  readObject(
    object: StoredObject,
    range?: ByteRange,
    signal?: AbortSignal,
  ): AsyncIterable<Uint8Array>;
  /** Seals and stores a bucket, so that a rebuild finds it, and adds it to the catalog. */
  createBucket(bucket: string): Promise<void>;
  /** Removes an empty bucket from the catalog, and its blob. */
  deleteBucket(bucket: string): Promise<void>;
  /** Ends background work: flushes tombstones, stores a snapshot of the catalog if it changed. */
  close(): Promise<void>;
}
