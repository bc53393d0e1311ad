import { CLAIM_EXPIRY, type Catalog, type Committed, type Condition } from "../catalog.ts";
import type { ClaimOptions, Deleted, DeleteOptions, Put } from "../catalog.ts";
import { refusalOf } from "./conditions.ts";
import {
  addContents,
  insertGarbage,
  insertParts,
  removeContents,
  rootGarbage,
} from "./contents.ts";
import {
  keyLocks,
  locked,
  OBJECT_COLUMNS,
  ownerOf,
  PART_COLUMNS,
  sequenceLock,
  toObject,
  toPart,
  toRoot,
} from "./convert.ts";
import { all, integer, rows, statement, type Dialect, type Plan } from "../database/port.ts";
import {
  discard,
  endWrite,
  judge,
  lockKey,
  placeObject,
  selectVersion,
  settleClaim,
} from "./key-state.ts";
import { insertWrite, selectWrite } from "./writes.ts";
import type { ContentsCache } from "../contents-cache.ts";
import type { Key, OpenedObject, Part, PlacedRoot, Seq, StoredObject, Time } from "../records.ts";

const FIND = `SELECT ${OBJECT_COLUMNS} FROM objects WHERE bucket = ? AND key = ?`;

export function* findObject(bucket: Seq, key: Key): Plan<StoredObject | undefined> {
  const [row] = yield* rows(FIND, bucket, key);
  return row && toObject(row);
}

export function* openObject(
  bucket: Seq,
  key: Key,
  cache: ContentsCache,
): Plan<OpenedObject | undefined> {
  const [row] = yield* rows(FIND, bucket, key);
  if (row === undefined) return undefined;
  const [object, owner] = [toObject(row), ownerOf(row)];
  if (owner === undefined) return { object, contents: [] };
  const kept = cache.find(owner);
  if (kept !== undefined) return { object, contents: kept };
  const contents = yield* readContents(owner);
  cache.keep(owner, contents);
  return { object, contents };
}

/** All content roots of an object or upload. */
export function* readContents(owner: Seq): Plan<readonly PlacedRoot[]> {
  const found = yield* rows(
    "SELECT part, address, size, md5 FROM contents WHERE owner = ? ORDER BY part, place",
    owner,
  );
  return found.map(toRoot);
}

export function* readParts(owner: Seq, after: number, limit: number): Plan<readonly Part[]> {
  const found = yield* rows(
    `SELECT ${PART_COLUMNS} FROM parts WHERE owner = ? AND number > ? ORDER BY number LIMIT ?`,
    owner,
    after,
    limit,
  );
  return found.map(toPart);
}

export function* listObjectParts(
  object: StoredObject,
  after: number,
  limit: number,
): Plan<readonly Part[]> {
  const { sql, values } = selectVersion(object);
  const [row] = yield* rows(sql, ...values);
  const owner = row && ownerOf(row);
  return owner === undefined ? [] : yield* readParts(owner, after, limit);
}

export function* setTags(
  { bucket, key, seq }: StoredObject,
  tags: StoredObject["tags"],
): Plan<boolean> {
  const changed = yield* rows(
    "UPDATE objects SET tags_json = ? WHERE bucket = ? AND key = ? AND seq = ? RETURNING seq",
    JSON.stringify(tags),
    bucket,
    key,
    seq,
  );
  return changed.length > 0;
}

export function* claim(
  dialect: Dialect,
  bucket: Seq,
  key: Key,
  condition: Condition | undefined,
  now: Time,
  { upload, reserves = false, changes, renews, isImpatient = false }: ClaimOptions = {},
): Plan<Awaited<ReturnType<Catalog["claim"]>>> {
  const locks = [sequenceLock(true)];
  const { state } = yield* lockKey(dialect, bucket, key, { locks });
  if (state.bucketName === undefined) return { outcome: "no-bucket" };
  const refusal = condition && refusalOf(condition, state.object);
  if (refusal !== undefined) return { outcome: refusal };
  const isOthers = state.claim !== undefined && state.claim.seq !== renews?.seq;
  if (condition !== undefined && isOthers && state.claim.expires > now) {
    return { outcome: "conflict" };
  }
  if (changes !== undefined && state.object?.seq !== changes.seq) {
    return { outcome: "source-changed" };
  }
  const { reserved, isReserved } = state;
  if (reserves && isReserved && reserved !== renews?.seq && !isImpatient) {
    return { outcome: "reserved", by: reserved };
  }
  const [next] = yield* rows(dialect.nextSeq);
  const seq = integer(next!["seq"]);
  const takings = [insertWrite(seq, now, upload, renews?.started)];
  if (reserves) {
    takings.push(
      statement("UPDATE objects SET reserved = ? WHERE bucket = ? AND key = ?", seq, bucket, key),
    );
  }
  if (condition !== undefined) {
    takings.push(
      statement(
        `INSERT INTO claims (bucket, key, seq, expires) VALUES (?, ?, ?, ?)
       ON CONFLICT (bucket, key) DO UPDATE SET seq = excluded.seq, expires = excluded.expires`,
        bucket,
        key,
        seq,
        now + CLAIM_EXPIRY,
      ),
    );
  }
  yield* all(...takings);
  const { object, owner } = state;
  if (!reserves || object === undefined) return { outcome: "claimed", seq, reserved: undefined };
  const contents = owner === undefined ? [] : yield* readContents(owner);
  return { outcome: "claimed", seq, reserved: { object, contents } };
}

export function* releaseClaim(
  dialect: Dialect,
  bucket: Seq,
  key: Key,
  seq: Seq,
  now: Time,
  { mayHaveRoot = false }: Parameters<Catalog["releaseClaim"]>[4] = {},
): Plan<void> {
  // The row stays: it may have taken the place of one that a committed write had left behind. A commit of
  // this write that the database is still running comes before, or finds who has claimed the key since.
  yield* locked(dialect, keyLocks(bucket, key), [
    ...(mayHaveRoot ? [] : endWrite(seq)),
    statement("UPDATE claims SET expires = ? WHERE seq = ?", now - CLAIM_EXPIRY, seq),
  ]);
}

export function* commitPut(dialect: Dialect, put: Put): Plan<Committed> {
  const { bucket, key, object, contents, parts = [], source, changes, now } = put;
  const { isClaimed = false } = put;
  const reads = [
    selectWrite(dialect, object.seq),
    ...(source === undefined ? [] : [selectVersion(source)]),
  ];
  const { state, results } = yield* lockKey(dialect, bucket, key, { source, reads });
  const [writes, versions] = results;
  const isAlive = put.isRegistered !== true || writes!.length > 0;
  const { etag } = object;
  const outcome = judge(state, object.seq, { isClaimed, isAlive, changes, etag });
  if (outcome === "superseded") {
    yield* discard(object, source === undefined ? contents : [], now);
    return { outcome };
  }
  if (outcome !== "stored") return { outcome };
  if (state.object?.seq === object.seq) return { outcome, replaced: undefined };
  if (versions?.length === 0) return { outcome: "source-changed" };
  // A gateway of before catalog version 2 ignores reservations.
  if (changes !== undefined && state.object?.seq !== changes.seq)
    return { outcome: "source-changed" };
  const owner = object.kind === "inline" ? undefined : object.seq;
  if (owner !== undefined) {
    yield* addContents(owner, contents, source !== undefined);
    if (parts.length > 0) yield* all(...insertParts(owner, parts));
  }
  const hasReserved = changes !== undefined;
  const placing = { bucket, key, object, owner, parts: parts.length, isClaimed, hasReserved };
  yield* placeObject(placing, state, now);
  return { outcome, replaced: state.object };
}

export function* deleteObject(
  dialect: Dialect,
  bucket: Seq,
  key: Key,
  { condition = {}, isBuried = false, now }: DeleteOptions,
): Plan<Deleted> {
  const { state } = yield* lockKey(dialect, bucket, key);
  const { bucketName, object, owner } = state;
  if (bucketName === undefined) return { outcome: "no-bucket" };
  const refusal = refusalOf(condition, object);
  if (refusal !== undefined) return { outcome: refusal };
  const [next] = yield* rows(dialect.nextSeq);
  const seq = integer(next!["seq"]);
  const changes = [
    statement(
      `INSERT INTO tombstones (bucket, key, seq, bucket_name, time, is_stored)
       VALUES (?, ?, ?, ?, ?, 0)
       ON CONFLICT (bucket, key) DO UPDATE SET
         seq = excluded.seq, bucket_name = excluded.bucket_name, time = excluded.time, is_stored = 0`,
      bucket,
      key,
      seq,
      bucketName,
      now,
    ),
  ];
  if (Object.keys(condition).length > 0) changes.push(...settleClaim(bucket, key, seq, now));
  if (object !== undefined) {
    changes.push(
      statement("DELETE FROM objects WHERE bucket = ? AND key = ?", bucket, key),
      ...insertGarbage([rootGarbage(object, now, isBuried)]),
    );
  }
  yield* all(...changes);
  if (owner !== undefined) yield* removeContents(owner, now);
  return {
    outcome: "deleted",
    object,
    tombstone: { bucket, bucketName, key, seq, time: now },
  };
}

export function* deleteObjects(
  dialect: Dialect,
  bucket: Seq,
  deletions: Parameters<Catalog["deleteObjects"]>[1],
  options: Omit<DeleteOptions, "condition">,
): Plan<readonly Deleted[]> {
  // All locks first, so that two lists of the same keys do not wait for each other.
  yield* locked(
    dialect,
    deletions.flatMap(({ key }) => keyLocks(bucket, key)),
    [],
  );
  const done: Deleted[] = [];
  for (const { key, condition = {} } of deletions) {
    done.push(yield* deleteObject(dialect, bucket, key, { ...options, condition }));
  }
  return done;
}
