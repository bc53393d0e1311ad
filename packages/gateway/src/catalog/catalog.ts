import type { Address } from "@idk/storage";
import type {
  Attributes,
  Bucket,
  ContentRoot,
  ExportedRow,
  Garbage,
  Key,
  Lineage,
  ListedObject,
  Mark,
  ObjectRecord,
  OpenedObject,
  Part,
  Seq,
  StoredObject,
  Time,
  Tombstone,
  Upload,
  WriteInProgress,
} from "./records.ts";

/**
 * The catalog: which objects there are and where. Inside the trust boundary: it holds names, sizes and
 * MD5s of plaintext.
 *
 * Each method is one transaction (or as many as it says). When its promise resolves, its changes are
 * durable: they survive the process and the machine. Methods that only read never wait for writers. Any
 * number of catalogs may be open over one database, in any number of processes.
 *
 * Writes of one key are ordered by `seq`: of two, the one with the higher seq is the later one, whatever
 * order they are committed in. The sealed identity of an object contains its seq, so a rebuild from the
 * store comes to the same order.
 *
 * Every method may reject with `CatalogError`; a write that rejects with `unavailable` may have been done
 * or not, and all of them may be repeated.
 */
export interface Catalog {
  /** A new number of the sequence: higher than all that any catalog of this database has returned. */
  nextSeq(): Promise<Seq>;

  /** `exists` with the bucket that has the name, unless it was made. */
  createBucket(
    bucket: Omit<Bucket, "id">,
  ): Promise<{ outcome: "created" | "exists"; bucket: Bucket }>;
  /** At most 100 buckets that are not confirmed, by id. */
  pendingBuckets(): Promise<readonly Bucket[]>;
  /** Marks a bucket as stored. */
  confirmBucket(id: Seq): Promise<void>;
  findBucket(name: string): Promise<Bucket | undefined>;
  /** Deletes a bucket without objects; uploads in progress in it are aborted before, some in each of several transactions. A tombstone with an empty key is queued. Takes an id, so that a bucket made anew meanwhile is left alone. */
  deleteBucket(id: Seq, now: Time): Promise<"deleted" | "absent" | "not-empty">;
  /** By name. `after` is the last name of the page before. At most `limit`, which is 1 to 1,000. */
  listBuckets(options?: {
    readonly prefix?: string;
    readonly after?: string;
    readonly limit?: number;
  }): Promise<readonly Bucket[]>;

  findObject(bucket: Seq, key: Key): Promise<StoredObject | undefined>;
  /** An object with all its content roots, at one moment. */
  openObject(bucket: Seq, key: Key): Promise<OpenedObject | undefined>;
  /** The parts of an object that was uploaded in parts, with numbers above `after`, in order. Empty if it was replaced meanwhile. */
  listObjectParts(object: StoredObject, after: number, limit: number): Promise<readonly Part[]>;
  /** Changes the tags of exactly this version. They are in sealed snapshots of the catalog alone. False if it was replaced. */
  setTags(object: StoredObject, tags: StoredObject["tags"]): Promise<boolean>;

  /**
   * Takes a number for a write that depends on what is there, before anything is stored. It is also
   * registered as a write in progress, as by `beginWrite`.
   *
   * With a condition, it claims the key, if the condition holds.
   * While the claim stands, a write of the key with a lower seq is told to `retry` with a new one, and one
   * with a higher seq makes the claim `lost`. Once it was committed, it tells older writes the same, because
   * they were not there when its condition held: otherwise they would be lost although they were
   * acknowledged. A deletion with a condition does so, too. A claim whose write has shown no sign of life for
   * `CLAIM_EXPIRY` can be taken over.
   *
   * With `reserves`, it reserves the version that is there, if one is, and returns it. From then on, all
   * writes of the key with a lower seq that are not committed are told to `retry`, until there is another
   * version. So if the process dies after it stored a root that is made of this version, nothing was
   * acknowledged since that the root would undo at a rebuild. The claim of another write is left alone.
   *
   * - `absent`: there is no object, and the condition wants one. `failed`: the condition does not hold.
   * - `conflict`: another write has claimed the key.
   * - `source-changed`: the version of `changes` is not there any more.
   * - `reserved`: `by` another write in progress, unless `isImpatient`. Try again soon.
   */
  claim(
    bucket: Seq,
    key: Key,
    condition: Condition | undefined,
    now: Time,
    options?: ClaimOptions,
  ): Promise<
    | { outcome: "claimed"; seq: Seq; reserved: OpenedObject | undefined }
    | Refusal
    | { outcome: "conflict" | "source-changed" | "no-bucket" }
    | { outcome: "reserved"; by: Seq }
  >;
  /**
   * Gives a claim back when its write ends without a commit: anybody may take it over. Until it is purged,
   * older writes are told to retry, as after a commit. Does nothing to a claim that is another's.
   *
   * Also ends the write in progress, unless its identity root may be in the store, with `mayHaveRoot`. The
   * claim is then kept as long as that write is known.
   */
  releaseClaim(
    bucket: Seq,
    key: Key,
    seq: Seq,
    now: Time,
    options?: { readonly mayHaveRoot?: boolean },
  ): Promise<void>;

  /** Commits an object that is in the store. What it replaces becomes garbage. Ends the write in progress of its seq. */
  commitPut(put: Put): Promise<Committed>;
  /** Deletes an object, and takes a seq for that. A tombstone is queued also if there was no object, because an older write may be on its way. */
  deleteObject(bucket: Seq, key: Key, options: DeleteOptions): Promise<Deleted>;
  /** Deletes at most 1,000 objects, in several transactions, one result for each in the same order. */
  deleteObjects(
    bucket: Seq,
    deletions: readonly { readonly key: Key; readonly condition?: Condition }[],
    options: Omit<DeleteOptions, "condition">,
  ): Promise<readonly Deleted[]>;

  /** A page of objects. A list of versions is the same, for every object is version `null`. */
  listObjects(options: ListOptions): Promise<Page<ListedObject>>;

  /** Undefined if there is no such bucket. */
  createUpload(upload: Omit<Upload, "id" | "seq">): Promise<Upload | undefined>;
  /** An upload in progress; undefined also if it was completed or aborted, or is of another key. */
  findUpload(bucket: Seq, key: Key, id: string): Promise<Upload | undefined>;
  /**
   * Adds a part, or replaces the one with its number if that has a lower seq. The one that goes becomes
   * garbage. Ends the write in progress of the part's seq.
   */
  putPart(
    put: PutPart,
  ): Promise<{ outcome: "stored" | "superseded" | "expired" | "no-upload" | "source-changed" }>;
  /** Parts with numbers above `after`, in order. Also to check them before Complete. */
  listParts(upload: Upload, after: number, limit: number): Promise<readonly Part[]>;
  /** The parts with their content roots in one list, at one moment: what a manifest is made of. */
  openUpload(
    upload: Upload,
  ): Promise<{ parts: readonly Part[]; contents: OpenedObject["contents"] }>;
  listUploads(options: ListOptions & { readonly afterId?: string }): Promise<Page<Upload>>;
  /**
   * Ends the Completes of an upload that are registered, for good, and returns their seqs: their manifests
   * may be in the store.
   */
  stopCompletes(upload: Upload): Promise<readonly Seq[]>;
  /**
   * Deletes an upload in progress; its parts become garbage. False if there is none; `busy` if there are
   * Completes besides those that were stopped: stop them first.
   */
  abortUpload(upload: Upload, now: Time, stopped?: readonly Seq[]): Promise<boolean | "busy">;
  /**
   * Makes an upload's parts an object, as `commitPut` does. Parts that are not listed become garbage.
   *
   * `changed`: a listed part is not there with that seq any more; open the upload again. `completed`: it
   * was completed within the last day, by the same or another request; the object it made is given as it
   * was then.
   */
  completeUpload(complete: Complete): Promise<Committed | { outcome: "changed" } | CompletedUpload>;
  /** What an upload became that was completed within the last day. */
  findCompleted(bucket: Seq, key: Key, id: string): Promise<CompletedUpload | undefined>;

  /**
   * Takes a number for a write, and registers the write before it stores anything, so that its root is
   * known for one that was never committed if its process dies. It survives the process, but perhaps not the
   * machine, as with `nextSeq`. `upload` is that of a Complete.
   */
  beginWrite(now: Time, upload?: Seq): Promise<Seq>;
  /**
   * A sign of life of writes in progress, and of the claims with the same seq that have not expired, at least
   * every `BEAT_INTERVAL`. Returns those that may still be committed: no others ever will be.
   */
  beat(seqs: readonly Seq[], now: Time): Promise<ReadonlySet<Seq>>;
  /** Forgets writes that were not committed, and have left no identity root in the store. */
  endWrites(seqs: readonly Seq[]): Promise<void>;
  /**
   * Ends for good the writes that gave no sign of life within `WRITE_EXPIRY`, and returns the oldest of the
   * others. It may belong to a process that has died, because one that was only stopped for a while could
   * still commit.
   */
  oldestWrite(now: Time): Promise<WriteInProgress | undefined>;
  /** Forgets dead writes that gave their last sign of life `WRITE_EXPIRY` before a time: a sweep has judged their roots. */
  forgetDeadWrites(before: Time): Promise<void>;
  /** What became of the write of an identity root. */
  fateOf(bucket: Seq, key: Key, seq: Seq): Promise<Fate>;

  /** Queues blobs to be deleted that no row names, such as those of a failed write. */
  addGarbage(garbage: readonly Garbage[]): Promise<void>;
  /** Garbage that is due, the longest due first, but for what a row of an object or of content names. It stays until it is confirmed. `after` is the last of the page before. */
  dueGarbage(now: Time, limit: number, after?: Garbage): Promise<readonly Garbage[]>;
  /** Forgets garbage after its blobs were deleted. */
  confirmGarbage(addresses: readonly Address[]): Promise<void>;
  /** Which of at most 1,000 addresses a row names: of an object, of content, or of garbage. */
  findKnown(addresses: readonly Address[]): Promise<ReadonlySet<Address>>;
  /** The same without garbage: what must be in the store. */
  findNamed(addresses: readonly Address[]): Promise<ReadonlySet<Address>>;

  /** Deletions whose tombstone is not confirmed, in the order of their seq, above `after`. */
  pendingTombstones(after: Seq, limit: number): Promise<readonly Tombstone[]>;
  /** Marks tombstones as stored. They are forgotten a day later, once no older write is in progress. */
  confirmTombstones(seqs: readonly Seq[]): Promise<void>;

  /**
   * Takes or keeps a lease for `duration` ms, so that one process does a thing at a time (`collector`,
   * `sweep`, `snapshot`). `holder` is the caller's random name. False while another one holds it.
   */
  takeLease(name: string, holder: string, now: Time, duration: number): Promise<boolean>;
  endLease(name: string, holder: string): Promise<void>;

  lineage(): Promise<Lineage>;
  /** Binds the catalog to a store, and returns the store it is bound to: an earlier one stays. */
  bindStore(store: string): Promise<string>;
  /**
   * Takes the number of a mark, and remembers it, before it is put into the store. The sequence continues
   * at least `skipped` numbers further on.
   */
  addMark(nonce: string, skipped: number): Promise<number>;
  /** Remembers a mark that is in the store, for a rebuild. */
  importMark(mark: Mark): Promise<void>;
  /** The last marks, by number. */
  listMarks(): Promise<readonly Mark[]>;
  /** Declares that a rebuild has judged all identity roots up to a seq. The sequence continues above it. */
  settle(seq: Seq): Promise<void>;
  /**
   * Takes the number of a snapshot, registered as a write, and returns the lower ones that may still be
   * committed, and when the first of them began: what has a lower seq and is neither among them nor in the
   * rows exported afterwards was never committed, or was replaced or deleted before.
   */
  beginSnapshot(now: Time): Promise<{ seq: Seq; writes: readonly Seq[]; began: Time | undefined }>;
  /** Records the newest snapshot; one with a lower seq than the recorded one is ignored. */
  recordSnapshot(snapshot: NonNullable<Lineage["snapshot"]>): Promise<void>;
  setComplete(isComplete: boolean): Promise<void>;

  /**
   * All buckets, objects and uploads with their parts; buckets by id, the rest of a bucket in the order of
   * its keys. Many short transactions: what changes meanwhile may be in it or not, but each row is whole.
   * `beginSnapshot` before says which writes may be missing.
   */
  exportRows(): AsyncIterable<ExportedRow>;
  /**
   * Adds rows, at most 1,000: a bucket before what is in it, an upload before its parts. Of a key that is
   * there already, the higher seq stays. The sequence continues above every seq imported.
   */
  importRows(rows: readonly ExportedRow[]): Promise<void>;

  /** Numbers for metrics: queue lengths. Counts stop at 100,000. */
  counts(): Promise<Counts>;
  /** Calls that wait to write, or for the database's answer to that. */
  queued(): number;
  /** Ends writes as `oldestWrite` does, and forgets what is out of date: completed uploads after a day, tombstones, and claims without a sign of life. A batch at a time, until nothing is left. */
  purge(now: Time): Promise<void>;
  /** Rejects if the database does not respond. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** How often a write in progress must show a sign of life, in ms. */
export const BEAT_INTERVAL = 20_000;
/** How long a write without a sign of life counts as running, and keeps its claim, in ms. */
export const CLAIM_EXPIRY = 5 * 60_000;
/** How long a write without a sign of life may still be committed, in ms. */
export const WRITE_EXPIRY = 24 * 60 * 60_000;
/** How long content stays after it became garbage, in ms: reads in progress still need it. */
export const CONTENT_DELAY = 60 * 60_000;
/** How long a completed upload is remembered, in ms. */
export const COMPLETED_KEPT = 24 * 60 * 60_000;

/** All that is given must hold. ETags without quotation marks; `*` is any object. */
export interface Condition {
  /** One of these ETags, or `*`. */
  readonly ifMatch?: readonly string[];
  /** None of these ETags, or `*`: no object. */
  readonly ifNoneMatch?: readonly string[];
  /** The object's time, compared in whole seconds. */
  readonly ifTime?: Time;
  readonly ifSize?: number;
}

/** Of a claim. */
export interface ClaimOptions {
  /** That of a Complete. */
  readonly upload?: Seq | undefined;
  /** For a write that is made of a version of its key; and for one that was told to `retry`, so that it is not told so again and again. */
  readonly reserves?: boolean;
  /** That version, if it was looked up before: it must still be there. */
  readonly changes?: StoredObject | undefined;
  /** The number that the write had, and when it began. */
  readonly renews?: { readonly seq: Seq; readonly started: Time } | undefined;
  /** Reserves also what another write in progress has reserved, which then has to `retry`. */
  readonly isImpatient?: boolean;
}

/** Why a condition is refused: there is no object but the condition wants one, or it does not hold. */
export interface Refusal {
  readonly outcome: "absent" | "failed";
}

export interface Put {
  readonly bucket: Seq;
  readonly key: Key;
  readonly object: ObjectRecord;
  /** The content roots of a manifest, in order; empty for an inline object. All `part` are 1, unless `parts` is given. */
  readonly contents: readonly (ContentRoot & { readonly part: number })[];
  /** The part boundaries, if the object is to keep some (a copy of one that was uploaded in parts). */
  readonly parts?: readonly Part[];
  /** Set if `contents` are roots of this other object (a copy): they are counted, and it must still be there. */
  readonly source?: StoredObject;
  /** Set if the object was made of this version of its key, which `claim` has reserved: that must still be there. */
  readonly changes?: StoredObject | undefined;
  /** Set if `claim` gave out the seq. */
  readonly isClaimed?: boolean;
  /** Set if `beginWrite` or `claim` registered the write: it is committed only if it is still alive. */
  readonly isRegistered?: boolean;
  readonly now: Time;
}

/**
 * What became of a write: `committed` under its key now; `replaced` by a later write or deletion of the
 * key; still `running`; `failed`, so that it never took effect and never will; or `unknown`: this catalog
 * may not know of it.
 */
export type Fate = "committed" | "replaced" | "running" | "failed" | "unknown";

/**
 * - `stored`: done; what was replaced is queued as garbage.
 * - `superseded`: done, but a later write or deletion of the key has been committed already. The new
 *   roots are queued as garbage. To the client it was stored, and replaced at once.
 * - `retry`: the key is claimed, or its version reserved, by a write with a higher seq. Store the identity
 *   again with a new seq, from `claim`, and delete the old root.
 * - `lost`: the claim was lost to another write (409 ConditionalRequestConflict).
 * - `expired`: the write was registered and is dead, because it showed no sign of life for too long.
 * - `source-changed`: the source of a copy was replaced or deleted meanwhile.
 *
 * After any but the first two, the caller deletes its roots, before it answers.
 */
export type Committed =
  | { readonly outcome: "stored"; readonly replaced: StoredObject | undefined }
  | { readonly outcome: "superseded" }
  | {
      readonly outcome: "retry" | "lost" | "expired" | "source-changed" | "no-bucket" | "no-upload";
    };

export interface DeleteOptions {
  readonly condition?: Condition;
  /** Set if a tombstone is stored: an inline root then stays as long as content does, for running reads. */
  readonly isBuried?: boolean;
  readonly now: Time;
}

/** `deleted` with the object that was there, if one was. The tombstone is to be stored and confirmed. */
export type Deleted =
  | {
      readonly outcome: "deleted";
      readonly object: StoredObject | undefined;
      readonly tombstone: Tombstone;
    }
  | Refusal
  | { readonly outcome: "no-bucket" };

export interface PutPart {
  readonly upload: Upload;
  readonly part: Part;
  readonly contents: readonly ContentRoot[];
  /** As of `Put`. */
  readonly source?: StoredObject;
  /** As of `Put`. */
  readonly isRegistered?: boolean;
  readonly now: Time;
}

export interface Complete {
  readonly upload: Upload;
  readonly object: ObjectRecord;
  /** The parts that the client listed and the manifest has, by number. */
  readonly parts: readonly { readonly number: number; readonly seq: Seq }[];
  readonly isClaimed?: boolean;
  readonly isRegistered?: boolean;
  readonly now: Time;
}

export interface CompletedUpload {
  readonly outcome: "completed";
  readonly object: Attributes & { readonly seq: Seq };
}

export interface ListOptions {
  readonly bucket: Seq;
  /** UTF-8 bytes; empty for all. */
  readonly prefix: Uint8Array;
  /** UTF-8 bytes, not empty. Keys that have it behind the prefix are rolled up into one common prefix. */
  readonly delimiter?: Uint8Array;
  /** Only what is greater: a marker, `start-after`, or the position of the page before. */
  readonly after?: Uint8Array;
  /**
   * True if a common prefix that `after` begins with was listed already, as a page's `next` says: its keys
   * are skipped. Otherwise it is listed if a greater key has it.
   */
  readonly isPrefixListed?: boolean;
  /** Entries of both kinds together: 0 to 1,000. */
  readonly limit: number;
}

export interface Page<Entry> {
  /** In the order of their keys' bytes. */
  readonly entries: readonly Entry[];
  /** Common prefixes, in order. */
  readonly prefixes: readonly Uint8Array[];
  /** Where the next page begins; undefined if this is the last one. For uploads with the id of the last one. */
  readonly next:
    | { readonly after: Uint8Array; readonly isPrefixListed: boolean; readonly afterId?: string }
    | undefined;
}

export interface Counts {
  readonly garbage: number;
  readonly tombstones: number;
  readonly uploads: number;
  readonly writes: number;
  /** Keys that conditional writes in progress have to themselves. */
  readonly claims: number;
}

/** What went wrong with the catalog itself; `unavailable` may pass. */
export class CatalogError extends Error {
  override readonly name = "CatalogError";
  readonly code: "unavailable" | "damaged" | "version" | "usage";

  constructor(code: CatalogError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
