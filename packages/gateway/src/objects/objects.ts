import type { Condition } from "../catalog/catalog.ts";
import type {
  Bucket,
  Key,
  OpenedObject,
  Part,
  Seq,
  StoredObject,
  Texts,
  Upload,
} from "../catalog/records.ts";
import type { Change } from "./write/commit.ts";

/** What is known of a body once it has ended and every check of it has passed. */
export interface BodyDigests {
  /** MD5 of all bytes, 32 lowercase hexadecimal digits. */
  readonly md5: string;
  /** Checksums to keep with the object or part. */
  readonly checksums: Texts;
}

/** A body on its way in. */
export interface IncomingBody {
  /**
   * The decoded bytes. Throws at its end, before it reports the end, if a length, digest, checksum
   * or signature is wrong. It reads from its socket only what is pulled. A piece may be reused once
   * the next one is pulled. `return` ends it early.
   */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Bytes, if the client declared it. A hint for memory. */
  readonly length?: number | undefined;
  /** Called once, after `bytes` has ended without an error. */
  digests(): BodyDigests | Promise<BodyDigests>;
}

/** What the client names and sets of an object to write. */
export interface ObjectTarget {
  readonly bucket: Bucket;
  readonly key: Key;
  readonly headers: Texts;
  readonly tags?: StoredObject["tags"] | undefined;
  readonly condition?: Condition | undefined;
  /** Of a write that is made of what its key has. */
  readonly change?: Change | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How long a call may wait for memory. */
export interface MemoryWait {
  /**
   * Milliseconds; by default forever. A call that waits longer at a time fails with `SlowDown`, unless
   * it has released bytes. It does not limit how long the store may take once there is memory.
   */
  readonly memoryWaitMs?: number | undefined;
}

/** Whose call it is. */
export interface MemoryOwner {
  /**
   * Such as the id of an access key. What all calls of one owner take for long manifests is at most half of the
   * memory for long content, unless it is one call. By default nobody's, without that limit.
   */
  readonly owner?: string | undefined;
}

/** Options of `readObject`. */
export interface ReadOptions extends MemoryWait {
  readonly signal?: AbortSignal | undefined;
}

/** A request to `putObject`. */
export interface PutRequest extends ObjectTarget, MemoryWait {
  readonly body: IncomingBody;
  /**
   * The version of the object that the body is made of, if it is of the same key: a write that comes between
   * must not be undone.
   */
  readonly changes?: StoredObject | undefined;
}

/** A request to `putPart`. */
export interface PutPartRequest extends MemoryWait {
  readonly upload: Upload;
  /** 1 to 10,000. */
  readonly number: number;
  readonly body: IncomingBody;
  readonly signal?: AbortSignal | undefined;
}

/** A request to `completeUpload`. */
export interface CompleteRequest extends MemoryOwner {
  readonly bucket: Bucket;
  readonly upload: Upload;
  /**
   * The listed parts as `Catalog.listParts` gave them, by number. The operation has checked them
   * against the request; that they are still there is checked here.
   */
  readonly parts: readonly Part[];
  /** MD5 of MD5s with `-N`. */
  readonly etag: string;
  readonly checksums: Texts;
  readonly condition?: Condition | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A request to `copyObject`. */
export interface CopyRequest extends ObjectTarget, MemoryOwner {
  readonly source: OpenedObject;
}

/** A request to `setTags`. */
export interface TagsRequest extends MemoryOwner {
  readonly bucket: Bucket;
  readonly source: OpenedObject;
  readonly tags: StoredObject["tags"];
  readonly change?: Change | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A request to `copyPart`. */
export interface CopyPartRequest extends MemoryOwner {
  readonly upload: Upload;
  /** 1 to 10,000. */
  readonly number: number;
  readonly source: OpenedObject;
  /** By default all of the source. */
  readonly range?: ByteRange | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Bytes of the content: start inclusive, end exclusive, both within it. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A key to delete. */
export interface DeleteTarget {
  readonly key: Key;
  readonly condition?: Condition;
}

/**
 * Objects as sealed blobs. Calls reject with `S3Error` (errors.ts), or with the error of the body that
 * they were given.
 *
 * Memory comes from one budget for the process: a call waits, without reading from its body, until
 * there is room, and gives its share back while its client stalls and others wait.
 */
export interface Objects {
  /** Whether there is an identity to read with. */
  readonly canRead: boolean;

  /**
   * Stores a body under a key. If it fails, what it stored is deleted; a condition that does not hold
   * fails before anything is stored.
   *
   * @throws S3Error `PreconditionFailed`, `ConditionalRequestConflict`, `NoSuchKey` (If-Match without
   *   an object), `OperationAborted` (`changes` is gone), `NoSuchBucket`
   */
  putObject(request: PutRequest): Promise<StoredObject>;

  /** Stores a part of an upload, in place of an earlier one of its number. Throws `NoSuchUpload`. */
  putPart(request: PutPartRequest): Promise<Part>;

  /**
   * Writes the manifest of the parts; moves no data. Repeated within a day, it gives the same object.
   *
   * @throws S3Error as `putObject`; `NoSuchUpload`, `InvalidPart` if a part was replaced meanwhile
   */
  completeUpload(request: CompleteRequest): Promise<Completion>;

  /**
   * Deletes an upload in progress, and makes sure that no Complete of it that failed can come back.
   *
   * @throws S3Error `NoSuchUpload`
   */
  abortUpload(upload: Upload): Promise<void>;

  /**
   * Runs a write that is made of what its key has: a copy of an object onto itself, or a change of tags. It
   * reserves the version that is there, and gives it to `make`. A write that replaces it meanwhile comes
   * after the change. It waits until other changes of the key are done.
   *
   * @throws S3Error as `putObject`
   */
  changeObject<T>(
    target: Pick<ObjectTarget, "bucket" | "key" | "condition" | "signal">,
    make: (change: Change) => Promise<T>,
  ): Promise<T>;

  /**
   * Copies an object: a manifest over the same content, or inline content sealed anew. Source and
   * target may be the same key, with other headers or tags. Time and seq are new.
   *
   * @throws S3Error as `putObject`; `AccessDenied` for inline content without an identity;
   *   `OperationAborted` if the source was replaced or deleted meanwhile
   */
  copyObject(request: CopyRequest): Promise<StoredObject>;

  /**
   * Changes the tags of exactly this version, and nothing else that clients are told: the object is sealed
   * anew, so that a rebuild has them, too. A gateway without an identity cannot do that with inline
   * content, and keeps them in its catalog alone.
   *
   * @returns false if the version was replaced
   */
  setTags(request: TagsRequest): Promise<boolean>;

  /**
   * Makes a part of content that is stored: shares it if the range begins and ends where content
   * roots do, and seals it anew otherwise.
   *
   * @throws S3Error as `putPart`; `AccessDenied` without an identity, unless the range is exactly one
   *   part or object whose MD5 is known; `OperationAborted` if the source was replaced or deleted meanwhile
   */
  copyPart(request: CopyPartRequest): Promise<Part>;

  /**
   * Deletes keys, at most 1,000. A sealed tombstone is stored before it resolves.
   *
   * @returns for each target the object that was deleted, undefined if there was none, or an `S3Error`
   */
  deleteObjects(
    bucket: Bucket,
    targets: readonly DeleteTarget[],
  ): Promise<readonly (StoredObject | undefined | Error)[]>;

  /**
   * The bytes of a range, by default all. Every byte is verified before it is released. Pieces are of
   * at most 256 KiB, and the caller's own. A read that has begun survives overwrites and deletion of
   * the object for an hour. Leave the loop early, or fire the signal, to end all work.
   *
   * @throws S3Error `AccessDenied` without an identity; `SlowDown`, see `MemoryWait`; once bytes were
   *   released, an error of the store
   */
  readObject(
    opened: OpenedObject,
    range?: ByteRange,
    options?: ReadOptions,
  ): AsyncIterable<Uint8Array<ArrayBuffer>>;

  /**
   * As `readObject`, for content that is stored again while it is read. It takes its memory from a budget
   * of its own: copies that held memory to read while they waited for memory to write would stop each other.
   */
  readForCopy(
    opened: OpenedObject,
    range: ByteRange,
    signal?: AbortSignal,
  ): AsyncIterable<Uint8Array<ArrayBuffer>>;

  /** Adds a bucket to the catalog, and seals it into the store, so that a rebuild finds it. */
  createBucket(
    bucket: Omit<Bucket, "id">,
  ): Promise<{ readonly outcome: "created" | "exists"; readonly bucket: Bucket }>;
  /** Deletes an empty bucket, with a tombstone. Throws `NoSuchBucket`, `BucketNotEmpty`. */
  deleteBucket(bucket: Bucket): Promise<void>;

  /** The blobs and the catalog as a whole: garbage, sweeps, snapshots, checks. */
  readonly maintenance: Maintenance;
  /** Numbers for metrics. */
  metrics(): ObjectMetrics;
  /** Ends background work; stores a sealed snapshot of the catalog if it changed. */
  close(): Promise<void>;
}

/** An object that was made of parts. */
export interface Completion {
  readonly etag: string;
  readonly checksums: Texts;
  readonly seq: number;
}

/**
 * For `idk gateway`, and in part run by a gateway itself, in the background. All but `check` reject, or
 * refuse, if the catalog is not that of its store, or incomplete: see maintenance/lineage.ts for the
 * rules that they keep.
 */
export interface Maintenance {
  /** Deletes garbage that is due. One process does so at a time: false if another one does. */
  collect(signal?: AbortSignal): Promise<CollectReport | false>;
  /** Deletes blobs that nothing refers to. See sweep.ts for when it refuses. */
  sweep(options?: SweepOptions): Promise<SweepReport>;
  /** Stores a sealed snapshot of the catalog. False if another process does so now. */
  snapshot(signal?: AbortSignal): Promise<boolean>;
  /** Whether the roots of every object exist; with `deep`, reads and verifies each object. */
  check(options?: CheckOptions): Promise<CheckReport>;
}

/** What a collection did. */
export interface CollectReport {
  readonly blobs: number;
  /** Garbage that could not be deleted; it stays queued. */
  readonly failed: number;
}

/** Options of `sweep`. */
export interface SweepOptions {
  /** Blobs stored within so many ms are left alone, by default a day. */
  readonly minAge?: number | undefined;
  readonly dryRun?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a sweep found. */
export interface SweepReport {
  /** Set if nothing, or nothing more, was deleted, with the reason. */
  readonly refused?: string | undefined;
  readonly blobs: number;
  /** Blobs that nothing refers to, old enough. */
  readonly orphans: number;
  readonly deleted: number;
  /** Roots that open without a valid MAC: made by others. They are left alone. At most 1,000. */
  readonly forged: readonly string[];
}

/** Options of `check`. */
export interface CheckOptions {
  readonly deep?: boolean | undefined;
  /** Checks a part of the store, by addresses, and lists nothing else. By default all of it. */
  readonly shard?: StoreShard | undefined;
  /** Where an earlier check was interrupted: what comes up to it in the order of the catalog is left out. */
  readonly after?: ObjectPlace | undefined;
  /** Called for each fault, in the order of the catalog. The check waits for it. */
  readonly onFault?: ((fault: ObjectFault) => Promise<void>) | undefined;
  /** Called after each object of the part, and its fault, with what this check has counted so far. */
  readonly onChecked?: ((place: ObjectPlace, counted: CheckCounts) => Promise<void>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A part of a store's addresses. */
export interface StoreShard {
  /** The first digits of all addresses in it, disjoint. */
  readonly prefixes: readonly string[];
  /** @param address 64 lowercase hex digits */
  has(address: string): boolean;
}

/** An object in the order of the catalog: by the number of its bucket, then by key. */
export interface ObjectPlace {
  readonly bucket: Seq;
  readonly key: Key;
}

/** What a check has counted. */
export interface CheckCounts {
  /** Those whose identity root is in the part, so that the parts add up. */
  readonly objects: number;
  readonly faultCount: number;
  /**
   * Objects that lack roots in this part, but of which another part lacks the first one and reports
   * them. 0 if `deep`, or without parts.
   */
  readonly reportedElsewhere: number;
}

/** What a check found. */
export interface CheckReport extends CheckCounts {
  /** At most 1,000. */
  readonly faults: readonly ObjectFault[];
}

/** An object that cannot be read. */
export interface ObjectFault {
  readonly bucket: string;
  readonly key: Key;
  readonly address: string;
  readonly message: string;
}

/** Numbers for metrics, all since the start, or now. */
export interface ObjectMetrics {
  readonly budgetBytes: number;
  readonly budgetUsed: number;
  /** Calls that wait for memory now. */
  readonly budgetWaiting: number;
  /** Shares taken back from clients that stalled. */
  readonly preemptions: number;
}
