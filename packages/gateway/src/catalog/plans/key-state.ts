import { CLAIM_EXPIRY, type Committed } from "../catalog.ts";
import {
  keyLocks,
  type Lock,
  locked,
  OBJECT_COLUMNS,
  ownerOf,
  toBytes,
  toObject,
  uploadLocks,
} from "./convert.ts";
import { contentGarbage, insertGarbage, removeContents, rootGarbage } from "./contents.ts";
import {
  all,
  integer,
  statement,
  type Dialect,
  type Plan,
  type Row,
  type Statement,
} from "../database/port.ts";
import type {
  Bucket,
  ContentRoot,
  Key,
  ObjectRecord,
  Seq,
  StoredObject,
  Time,
} from "../records.ts";

/** What there is of a key while it is locked. */
export interface KeyState {
  readonly bucketName: Bucket["name"] | undefined;
  readonly object: StoredObject | undefined;
  /** What the object's contents belong to. */
  readonly owner: Seq | undefined;
  /** The last write that reserved this version of the object; 0 if none did. */
  readonly reserved: Seq;
  /** Whether that write is in progress. */
  readonly isReserved: boolean;
  /** The conditional write that has claimed the key, and until when it need not give a sign of life. */
  readonly claim: { readonly seq: Seq; readonly expires: Time } | undefined;
  /** The last deletion; 0 if there is none that counts. */
  readonly deleted: Seq;
}

/** Locks a key, and what else is given, and reads what there is of it and the rows of further statements. */
export function* lockKey(
  dialect: Dialect,
  bucket: Seq,
  key: Key,
  more: {
    readonly source?: StoredObject | undefined;
    readonly upload?: Seq;
    readonly locks?: readonly Lock[];
    readonly reads?: readonly Statement[];
  } = {},
): Plan<{ state: KeyState; results: readonly (readonly Row[])[] }> {
  const { source, upload, locks: others = [], reads = [] } = more;
  const locks = [
    ...keyLocks(bucket, key),
    ...(source === undefined ? [] : keyLocks(source.bucket, source.key)),
    ...(upload === undefined ? [] : uploadLocks(upload)),
    ...others,
  ];
  const [buckets, objects, claims, tombstones, ...results] = yield* locked(dialect, locks, [
    statement("SELECT name FROM buckets WHERE id = ?", bucket),
    statement(
      `SELECT ${OBJECT_COLUMNS}, reserved,
         (SELECT seq FROM writes WHERE writes.seq = objects.reserved AND is_dead = 0) AS reserving
       FROM objects WHERE bucket = ? AND key = ?`,
      bucket,
      key,
    ),
    statement("SELECT seq, expires FROM claims WHERE bucket = ? AND key = ?", bucket, key),
    statement("SELECT seq FROM tombstones WHERE bucket = ? AND key = ?", bucket, key),
    ...reads,
  ]);
  const [object] = objects!;
  const [claim] = claims!;
  return {
    state: {
      bucketName: buckets![0]?.["name"] as string | undefined,
      object: object && toObject(object),
      owner: object && ownerOf(object),
      reserved: integer(object?.["reserved"] ?? 0),
      isReserved: (object?.["reserving"] ?? null) !== null,
      claim: claim && { seq: integer(claim["seq"]), expires: integer(claim["expires"]) },
      deleted: tombstones!.length === 0 ? 0 : integer(tombstones![0]!["seq"]),
    },
    results,
  };
}

/** The statement that finds whether an object is still there in this version. */
export function selectVersion({ bucket, key, seq }: StoredObject): Statement {
  return statement(
    "SELECT owner FROM objects WHERE bucket = ? AND key = ? AND seq = ?",
    bucket,
    key,
    seq,
  );
}

/**
 * What becomes of a write of a key, by the order of seqs.
 *
 * A claim refuses older writes that are not committed yet. If the claimed write is lost as well, its blob
 * may be in the store for a while, and would win over an older one at a rebuild. So a claim refuses them
 * also after it has expired, until it is forgotten with its write. It refuses them also after its write was
 * committed: they were not there when the condition held, so they come after it. And after it was given
 * back, because there may have been such a write before it.
 *
 * A write that has reserved a version refuses older ones for the same reasons, and also after its commit, as
 * long as there is no other version. It does not end a claim, which gets a new number: the condition is then
 * checked again. Nor does a claim refuse a change that leaves the ETag as it is: the condition holds after it
 * as before, so the change comes first.
 */
export function judge(
  { bucketName, object, reserved, claim, deleted }: KeyState,
  seq: Seq,
  write: JudgedWrite,
): Exclude<Committed["outcome"], "source-changed" | "no-upload"> {
  const { isClaimed, isAlive, changes, etag } = write;
  const newest = Math.max(object?.seq ?? 0, deleted);
  if (bucketName === undefined) return "no-bucket";
  // Also if a commit is repeated whose answer was lost.
  if (object?.seq === seq) return "stored";
  if (isClaimed && claim?.seq !== seq) return "lost";
  const isIndifferent = changes?.etag === etag && deleted < seq;
  const isRefused = reserved > seq || (!isIndifferent && (claim?.seq ?? 0) > seq);
  if (newest > seq && !isRefused) return isClaimed ? "lost" : "superseded";
  if (!isAlive) return "expired";
  return isRefused || (changes !== undefined && reserved !== seq) ? "retry" : "stored";
}

/** What a write is, besides its seq. */
export interface JudgedWrite extends Pick<ObjectRecord, "etag"> {
  readonly isClaimed: boolean;
  /** False if the write was registered, and is dead. */
  readonly isAlive: boolean;
  /** The version that it was made of and replaces, which it reserved. */
  readonly changes?: StoredObject | undefined;
}

/** What an object is stored with: its contents and the number that they belong to. */
export interface Placing {
  readonly bucket: Seq;
  readonly key: Key;
  readonly object: ObjectRecord;
  readonly owner: Seq | undefined;
  /** How many parts it was uploaded in. */
  readonly parts: number;
  /** Whether its key is claimed: older writes come after it then. */
  readonly isClaimed?: boolean;
  /** Whether it has reserved what it replaces: older writes come after it then. */
  readonly hasReserved?: boolean;
}

/** Makes an object what its key has. What was there becomes garbage; its contents are added before. */
export function* placeObject(
  { bucket, key, object, owner, parts, isClaimed = false, hasReserved = false }: Placing,
  state: KeyState,
  now: Time,
): Plan<void> {
  const { seq, kind, root, size, etag, time, checksums, tags, headers } = object;
  const changes = [
    statement(
      `INSERT INTO objects (${OBJECT_COLUMNS}, reserved)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (bucket, key) DO UPDATE SET
         seq = excluded.seq, kind = excluded.kind, root = excluded.root, owner = excluded.owner,
         parts = excluded.parts, size = excluded.size, etag = excluded.etag, time = excluded.time,
         checksums_json = excluded.checksums_json, tags_json = excluded.tags_json,
         headers_json = excluded.headers_json, reserved = excluded.reserved`,
      bucket,
      key,
      seq,
      kind === "inline" ? 0 : 1,
      toBytes(root),
      owner ?? null,
      parts,
      size,
      etag,
      time,
      JSON.stringify(checksums),
      JSON.stringify(tags),
      JSON.stringify(headers),
      hasReserved ? seq : null,
    ),
    ...(isClaimed ? settleClaim(bucket, key, seq, now) : endWrite(seq)),
  ];
  if (state.object !== undefined && state.object.root !== root) {
    changes.push(...insertGarbage([rootGarbage(state.object, now, true)]));
  }
  yield* all(...changes);
  if (state.owner !== undefined && state.owner !== owner) yield* removeContents(state.owner, now);
}

/** Queues the roots of a write that came too late. */
export function* discard(
  object: ObjectRecord,
  contents: readonly ContentRoot[],
  now: Time,
): Plan<void> {
  yield* all(
    ...insertGarbage([
      { address: object.root, kind: "identity", due: now },
      ...contentGarbage(contents, now),
    ]),
    ...endWrite(object.seq),
  );
}

/**
 * Ends a write in progress, and leaves a claim behind that anybody may take over, and that older writes of
 * the key are told of.
 */
export function settleClaim(bucket: Seq, key: Key, seq: Seq, now: Time): Statement[] {
  return [
    ...endWrite(seq),
    statement(
      `INSERT INTO claims (bucket, key, seq, expires) VALUES (?, ?, ?, ?)
       ON CONFLICT (bucket, key) DO UPDATE SET seq = excluded.seq, expires = excluded.expires
       WHERE excluded.seq >= claims.seq`,
      bucket,
      key,
      seq,
      // Over for everyone, whatever their clocks.
      now - CLAIM_EXPIRY,
    ),
  ];
}

/** Ends a write in progress. A claim stays until it is purged. */
export function endWrite(seq: Seq): Statement[] {
  return [statement("DELETE FROM writes WHERE seq = ?", seq)];
}
