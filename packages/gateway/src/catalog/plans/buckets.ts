import { bucketLock, BUCKET_COLUMNS, locked, toBucket, uploadLocks } from "./convert.ts";
import { removeContents } from "./contents.ts";
import { all, integer, rows, statement, type Dialect, type Plan } from "../database/port.ts";
import type { Catalog } from "../catalog.ts";
import type { Bucket, Seq, Time } from "../records.ts";

/** How many uploads one transaction aborts: each may have 10,000 parts. */
const UPLOADS = 10;
/** The key of the tombstone of a bucket: no object has it. */
const WHOLE_BUCKET = new Uint8Array(0);

export function* findBucket(name: string): Plan<Bucket | undefined> {
  const [row] = yield* rows(`SELECT ${BUCKET_COLUMNS} FROM buckets WHERE name = ?`, name);
  return row && toBucket(row);
}

export function* createBucket(
  dialect: Dialect,
  { name, owner, region, time }: Omit<Bucket, "id">,
): Plan<Awaited<ReturnType<Catalog["createBucket"]>>> {
  const found = yield* findBucket(name);
  if (found !== undefined) return { outcome: "exists", bucket: found };
  const [next] = yield* rows(dialect.nextSeq);
  const id = integer(next!["seq"]);
  const made = yield* rows(
    `INSERT INTO buckets (${BUCKET_COLUMNS}, is_stored) VALUES (?, ?, ?, ?, ?, 0)
     ON CONFLICT (name) DO NOTHING RETURNING id`,
    id,
    name,
    owner,
    region,
    time,
  );
  if (made.length > 0) return { outcome: "created", bucket: { id, name, owner, region, time } };
  // Another one was faster. If it is deleted again already, this one was made before that.
  const other = yield* findBucket(name);
  return { outcome: "exists", bucket: other ?? { id, name, owner, region, time } };
}

/** Aborts some uploads of an empty bucket, and returns `more`; deletes it if there are none. */
export function* deleteBucket(
  dialect: Dialect,
  id: Seq,
  now: Time,
): Plan<"deleted" | "absent" | "not-empty" | "more"> {
  const [buckets, objects] = yield* locked(
    dialect,
    [bucketLock(id)],
    [
      statement("SELECT name FROM buckets WHERE id = ?", id),
      statement("SELECT seq FROM objects WHERE bucket = ? LIMIT 1", id),
    ],
  );
  if (buckets!.length === 0) return "absent";
  if (objects!.length > 0) return "not-empty";
  const uploads = yield* rows(`SELECT seq FROM uploads WHERE bucket = ? LIMIT ${UPLOADS}`, id);
  for (const row of uploads) {
    const seq = integer(row["seq"]);
    yield* locked(dialect, uploadLocks(seq), [statement("DELETE FROM uploads WHERE seq = ?", seq)]);
    yield* removeContents(seq, now);
  }
  if (uploads.length > 0) return "more";
  yield* all(
    statement(
      `INSERT INTO tombstones (bucket, key, seq, bucket_name, time, is_stored)
       VALUES (?, ?, ?, ?, ?, 0)`,
      id,
      WHOLE_BUCKET,
      id,
      buckets![0]!["name"]!,
      now,
    ),
    statement("DELETE FROM buckets WHERE id = ?", id),
  );
  return "deleted";
}

export function* pendingBuckets(): Plan<readonly Bucket[]> {
  const found = yield* rows(
    `SELECT ${BUCKET_COLUMNS} FROM buckets WHERE is_stored = 0 ORDER BY id LIMIT 100`,
  );
  return found.map(toBucket);
}

export function* confirmBucket(id: Seq): Plan<void> {
  yield* rows("UPDATE buckets SET is_stored = 1 WHERE id = ?", id);
}

export function* listBuckets({
  prefix = "",
  after = "",
  limit = 1000,
}: NonNullable<Parameters<Catalog["listBuckets"]>[0]>): Plan<readonly Bucket[]> {
  // Names are ASCII.
  const found = yield* rows(
    `SELECT ${BUCKET_COLUMNS} FROM buckets
     WHERE name > ? AND name >= ? AND name < ? ORDER BY name LIMIT ?`,
    after,
    prefix,
    `${prefix}\u{7f}`,
    limit,
  );
  return found.map(toBucket);
}
