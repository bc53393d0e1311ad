import { CatalogError } from "../catalog.ts";
import { addContents, insertParts } from "./contents.ts";
import {
  BUCKET_COLUMNS,
  locked,
  OBJECT_COLUMNS,
  ownerOf,
  PART_COLUMNS,
  toBucket,
  toObject,
  toPart,
  toRoot,
  toUpload,
  uploadLocks,
  UPLOAD_COLUMNS,
} from "./convert.ts";
import {
  all,
  integer,
  rows,
  statement,
  type Dialect,
  type Plan,
  type Reader,
} from "../database/port.ts";
import { lockKey, placeObject } from "./key-state.ts";
import { readContents, readParts } from "./objects.ts";
import { insertUpload } from "./uploads.ts";
import type { Bucket, ContentRoot, ExportedRow, Key, Seq, Time, Upload } from "../records.ts";

/** The most objects, or parts of an upload, that one transaction of an export reads. */
const PAGE = 500;
/** A page ends after the object with which it has so many content roots. */
const PAGE_CONTENTS = 10_000;
const ALL_PARTS = 100_000;

export async function* exportRows(database: Reader): AsyncGenerator<ExportedRow> {
  for (let id = 0; ;) {
    const after = id;
    const [bucket] = await database.query(() => bucketsAfter(after));
    if (bucket === undefined) return;
    id = bucket.id;
    yield { type: "bucket", bucket };
    yield* paged(
      database,
      (after: Key) => objectsAfter(bucket.id, after),
      Uint8Array.of(),
      (row) => (row.type === "object" ? row.object.key : undefined),
    );
    let place: Pick<Upload, "key" | "seq"> = { key: Uint8Array.of(), seq: 0 };
    for (;;) {
      const { key, seq } = place;
      const [upload] = await database.query(() => uploadsAfter(bucket.id, key, seq));
      if (upload === undefined) break;
      place = upload;
      yield { type: "upload", upload };
      yield* paged(
        database,
        (after: number) => partsAfter(upload.seq, after),
        0,
        (row) => (row.type === "part" ? row.part.number : undefined),
      );
    }
  }
}

/** Page after page, each a transaction, until one is empty. */
async function* paged<Place>(
  database: Reader,
  read: (after: Place) => Plan<ExportedRow[]>,
  start: Place,
  placeOf: (row: ExportedRow) => Place | undefined,
): AsyncGenerator<ExportedRow> {
  for (let after = start; ;) {
    const from = after;
    const page = await database.read(() => read(from));
    if (page.length === 0) return;
    yield* page;
    // Nothing else may have given way to the process's other work.
    await new Promise((resolve) => setImmediate(resolve));
    after = placeOf(page.at(-1)!)!;
  }
}

function* bucketsAfter(id: Seq): Plan<Bucket[]> {
  const found = yield* rows(
    `SELECT ${BUCKET_COLUMNS} FROM buckets WHERE id > ? ORDER BY id LIMIT 1`,
    id,
  );
  return found.map(toBucket);
}

function* objectsAfter(bucket: Seq, after: Key): Plan<ExportedRow[]> {
  const found = yield* rows(
    `SELECT ${OBJECT_COLUMNS} FROM objects WHERE bucket = ? AND key > ? ORDER BY key LIMIT ?`,
    bucket,
    after,
    PAGE,
  );
  const page: ExportedRow[] = [];
  let count = 0;
  for (const row of found) {
    const owner = ownerOf(row);
    const contents = owner === undefined ? [] : yield* readContents(owner);
    const object = toObject(row);
    const parts =
      owner === undefined || object.parts === 0 ? [] : yield* readParts(owner, 0, ALL_PARTS);
    page.push({ type: "object", object, contents, parts });
    count += contents.length;
    if (count >= PAGE_CONTENTS) break;
  }
  return page;
}

function* uploadsAfter(bucket: Seq, key: Key, seq: Seq): Plan<Upload[]> {
  const found = yield* rows(
    `SELECT ${UPLOAD_COLUMNS} FROM uploads
     WHERE bucket = ? AND (key, seq) > (?, CAST(? AS BIGINT)) ORDER BY key, seq LIMIT 1`,
    bucket,
    key,
    seq,
  );
  return found.map(toUpload);
}

function* partsAfter(upload: Seq, after: number): Plan<ExportedRow[]> {
  const found = yield* rows(
    `SELECT ${PART_COLUMNS} FROM parts WHERE owner = ? AND number > ? ORDER BY number LIMIT ?`,
    upload,
    after,
    PAGE,
  );
  const parts = found.map(toPart);
  const last = parts.at(-1)?.number ?? after;
  const placed = yield* rows(
    `SELECT part, address, size, md5 FROM contents
     WHERE owner = ? AND part > ? AND part <= ? ORDER BY part, place`,
    upload,
    after,
    last,
  );
  const contents = new Map<number, ContentRoot[]>(parts.map(({ number }) => [number, []]));
  for (const row of placed) {
    const { part, ...root } = toRoot(row);
    contents.get(part)?.push(root);
  }
  return parts.map((part) => ({
    type: "part",
    upload,
    part,
    contents: contents.get(part.number)!,
  }));
}

export function* importRows(
  dialect: Dialect,
  imported: readonly ExportedRow[],
  now: Time,
): Plan<void> {
  let highest = 0;
  for (const row of imported) highest = Math.max(highest, yield* importRow(dialect, row, now));
  yield* rows(dialect.raiseSeq, highest);
}

/** Returns the highest seq in it. */
function* importRow(dialect: Dialect, row: ExportedRow, now: Time): Plan<Seq> {
  if (row.type === "bucket") return yield* importBucket(row.bucket);
  if (row.type === "object") return yield* importObject(dialect, row, now);
  if (row.type === "part") return yield* importPart(dialect, row);
  yield* insertUpload(row.upload);
  return row.upload.seq;
}

function* importObject(
  dialect: Dialect,
  { object, contents, parts }: Extract<ExportedRow, { type: "object" }>,
  now: Time,
): Plan<Seq> {
  const { bucket, key, seq } = object;
  const { state } = yield* lockKey(dialect, bucket, key);
  if (state.bucketName === undefined) {
    throw new CatalogError("usage", "an object was imported before its bucket");
  }
  const highest = parts.reduce((highest, part) => Math.max(highest, part.seq), seq);
  if (Math.max(state.object?.seq ?? 0, state.deleted) >= seq) return highest;
  const owner = object.kind === "inline" ? undefined : seq;
  if (owner !== undefined) {
    yield* addContents(owner, contents, true);
    if (parts.length > 0) yield* all(...insertParts(owner, parts));
  }
  const placing = { bucket, key, object, owner, parts: parts.length };
  yield* placeObject(placing, state, now);
  return highest;
}

function* importPart(
  dialect: Dialect,
  { upload, part, contents }: Extract<ExportedRow, { type: "part" }>,
): Plan<Seq> {
  const [found] = yield* locked(dialect, uploadLocks(upload, part.number), [
    statement("SELECT seq FROM parts WHERE owner = ? AND number = ?", upload, part.number),
  ]);
  if (found!.length > 0) return part.seq;
  const placed = contents.map(({ address, size, md5 }) => {
    return { address, size, md5, part: part.number };
  });
  yield* addContents(upload, placed, true);
  yield* all(...insertParts(upload, [part]));
  return part.seq;
}

function* importBucket({ id, name, owner, region, time }: Bucket): Plan<Seq> {
  const [found] = yield* rows("SELECT id FROM buckets WHERE name = ?", name);
  if (found !== undefined && integer(found["id"]) !== id) {
    throw new CatalogError(
      "usage",
      `the catalog has another bucket ${name}; import into an empty one`,
    );
  }
  yield* rows(
    `INSERT INTO buckets (${BUCKET_COLUMNS}, is_stored) VALUES (?, ?, ?, ?, ?, 1)
     ON CONFLICT (id) DO NOTHING`,
    id,
    name,
    owner,
    region,
    time,
  );
  return id;
}
