import { randomBytes } from "node:crypto";
import type { Catalog, Complete, CompletedUpload, PutPart } from "../catalog.ts";
import {
  addContents,
  contentGarbage,
  insertGarbage,
  insertParts,
  removeContents,
  removeParts,
} from "./contents.ts";
import {
  keyLocks,
  locked,
  parseUploadId,
  toAttributes,
  toUpload,
  uploadId,
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
  type Row,
} from "../database/port.ts";
import { discard, endWrite, judge, lockKey, placeObject, selectVersion } from "./key-state.ts";
import { readContents, readParts } from "./objects.ts";
import { selectWrite } from "./writes.ts";
import type { Key, Seq, Time, Upload } from "../records.ts";

/** More than an upload has. */
const ALL_PARTS = 100_000;

export function* createUpload(
  dialect: Dialect,
  upload: Omit<Upload, "id" | "seq">,
): Plan<Upload | undefined> {
  const { bucket, key, owner, time, tags, headers, options } = upload;
  const [buckets] = yield* locked(dialect, keyLocks(bucket, key), [
    statement("SELECT id FROM buckets WHERE id = ?", bucket),
  ]);
  if (buckets!.length === 0) return undefined;
  const [next] = yield* rows(dialect.nextSeq);
  const seq = integer(next!["seq"]);
  const secret = randomBytes(16).toString("hex");
  yield* insertUpload({ ...upload, id: uploadId(seq, secret), seq });
  return {
    id: uploadId(seq, secret),
    seq,
    bucket,
    key,
    owner,
    time,
    tags,
    headers,
    options,
  };
}

/** Adds the row of an upload, unless it is there. */
export function* insertUpload(upload: Upload): Plan<void> {
  const { id, seq, bucket, key, owner, time, tags, headers, options } = upload;
  yield* rows(
    `INSERT INTO uploads (${UPLOAD_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (seq) DO NOTHING`,
    seq,
    parseUploadId(id)!.secret,
    bucket,
    key,
    owner,
    time,
    JSON.stringify(tags),
    JSON.stringify(headers),
    JSON.stringify(options),
  );
}

/** The row with a number, if an ID and key are those of the upload. */
function matches(row: Row | undefined, bucket: Seq, key: Key, secret: string): row is Row {
  return (
    row !== undefined &&
    row["secret"] === secret &&
    integer(row["bucket"]) === bucket &&
    Buffer.compare(row["key"] as Key, key) === 0
  );
}

export function* findUpload(bucket: Seq, key: Key, id: string): Plan<Upload | undefined> {
  const parsed = parseUploadId(id);
  if (parsed === undefined) return undefined;
  const [row] = yield* rows(`SELECT ${UPLOAD_COLUMNS} FROM uploads WHERE seq = ?`, parsed.seq);
  return matches(row, bucket, key, parsed.secret) ? toUpload(row) : undefined;
}

const FIND_COMPLETED = "SELECT * FROM completed WHERE seq = ?";

function toCompleted(row: Row): CompletedUpload {
  return {
    outcome: "completed",
    object: { seq: integer(row["object_seq"]), ...toAttributes(row) },
  };
}

export function* findCompleted(
  bucket: Seq,
  key: Key,
  id: string,
): Plan<CompletedUpload | undefined> {
  const parsed = parseUploadId(id);
  if (parsed === undefined) return undefined;
  const [row] = yield* rows(FIND_COMPLETED, parsed.seq);
  return matches(row, bucket, key, parsed.secret) ? toCompleted(row) : undefined;
}

export function* putPart(
  dialect: Dialect,
  { upload, part, contents, source, isRegistered = false, now }: PutPart,
): Plan<Awaited<ReturnType<Catalog["putPart"]>>> {
  const locks = uploadLocks(upload.seq, part.number);
  if (source !== undefined) locks.push(...keyLocks(source.bucket, source.key));
  const [uploads, parts, writes, sources] = yield* locked(dialect, locks, [
    statement("SELECT seq FROM uploads WHERE seq = ?", upload.seq),
    statement("SELECT seq FROM parts WHERE owner = ? AND number = ?", upload.seq, part.number),
    selectWrite(dialect, part.seq),
    ...(source === undefined ? [] : [selectVersion(source)]),
  ]);
  if (uploads!.length === 0) return { outcome: "no-upload" };
  const there = parts!.length === 0 ? 0 : integer(parts![0]!["seq"]);
  if (there === part.seq) return { outcome: "stored" };
  if (there > part.seq) {
    const late = source === undefined ? contentGarbage(contents, now) : [];
    yield* all(...insertGarbage(late), ...endWrite(part.seq));
    return { outcome: "superseded" };
  }
  if (isRegistered && writes!.length === 0) return { outcome: "expired" };
  if (sources?.length === 0) return { outcome: "source-changed" };
  if (there > 0) yield* removeParts(upload.seq, now, [part.number]);
  const placed = contents.map((root) => ({ ...root, part: part.number }));
  yield* addContents(upload.seq, placed, source !== undefined);
  yield* all(...insertParts(upload.seq, [part]), ...endWrite(part.seq));
  return { outcome: "stored" };
}

export function* openUpload({ seq }: Upload): Plan<Awaited<ReturnType<Catalog["openUpload"]>>> {
  return {
    parts: yield* readParts(seq, 0, ALL_PARTS),
    contents: yield* readContents(seq),
  };
}

export function* abortUpload(
  dialect: Dialect,
  { seq }: Upload,
  now: Time,
  stopped: readonly Seq[] = [],
): Plan<boolean | "busy"> {
  const [uploads, completes] = yield* locked(dialect, uploadLocks(seq), [
    statement("SELECT seq FROM uploads WHERE seq = ?", seq),
    statement("SELECT seq FROM writes WHERE upload = ?", seq),
  ]);
  if (uploads!.length === 0) return false;
  if (completes!.some((row) => !stopped.includes(integer(row["seq"])))) return "busy";
  yield* rows("DELETE FROM uploads WHERE seq = ?", seq);
  yield* removeContents(seq, now);
  return true;
}

export function* completeUpload(
  dialect: Dialect,
  { upload, object, parts, isClaimed = false, isRegistered = false, now }: Complete,
): Plan<Awaited<ReturnType<Catalog["completeUpload"]>>> {
  const { bucket, key, seq: owner } = upload;
  const { state, results } = yield* lockKey(dialect, bucket, key, {
    upload: owner,
    reads: [
      statement("SELECT seq FROM uploads WHERE seq = ?", owner),
      statement(FIND_COMPLETED, owner),
      statement("SELECT number, seq FROM parts WHERE owner = ? ORDER BY number", owner),
      selectWrite(dialect, object.seq),
    ],
  });
  const [uploads, completed, stored, writes] = results;
  if (completed!.length > 0) return toCompleted(completed![0]!);
  if (uploads!.length === 0) return { outcome: "no-upload" };
  const unlisted = new Map(stored!.map((row) => [integer(row["number"]), integer(row["seq"])]));
  for (const { number, seq } of parts) {
    if (unlisted.get(number) !== seq) return { outcome: "changed" };
    unlisted.delete(number);
  }
  const isAlive = !isRegistered || writes!.length > 0;
  const { etag } = object;
  const outcome = judge(state, object.seq, { isClaimed, isAlive, etag });
  if (outcome !== "stored" && outcome !== "superseded") return { outcome };
  yield* removeParts(owner, now, [...unlisted.keys()]);
  if (outcome === "stored") {
    const placing = { bucket, key, object, owner, parts: parts.length, isClaimed };
    yield* placeObject(placing, state, now);
  } else {
    yield* removeContents(owner, now);
    yield* discard(object, [], now);
  }
  yield* all(
    statement(
      `INSERT INTO completed
         (seq, secret, bucket, key, completed, object_seq, size, etag, time, checksums_json)
       SELECT seq, secret, bucket, key, CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT),
         CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS TEXT)
       FROM uploads WHERE seq = ?`,
      now,
      object.seq,
      object.size,
      object.etag,
      object.time,
      JSON.stringify(object.checksums),
      owner,
    ),
    statement("DELETE FROM uploads WHERE seq = ?", owner),
  );
  return outcome === "stored" ? { outcome, replaced: state.object } : { outcome };
}
