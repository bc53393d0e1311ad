import { createHash } from "node:crypto";
import type { Address } from "@idk/storage";
import { CatalogError } from "../catalog.ts";
import {
  batches,
  integer,
  list,
  LIST_LIMIT,
  statement,
  type Dialect,
  type Plan,
  type Row,
  type Statement,
  type Value,
} from "../database/port.ts";
import type {
  Bucket,
  Key,
  ListedObject,
  Part,
  PlacedRoot,
  Seq,
  StoredObject,
  Texts,
  Upload,
} from "../records.ts";

export const BUCKET_COLUMNS = "id, name, owner, region, time";
export const OBJECT_COLUMNS =
  "bucket, key, seq, kind, root, owner, parts, size, etag, time, checksums_json, tags_json, headers_json";
export const LISTED_COLUMNS = "key, size, etag, time, checksums_json";
export const PART_COLUMNS = "number, seq, size, etag, time, checksums_json";
export const UPLOAD_COLUMNS =
  "seq, secret, bucket, key, owner, time, tags_json, headers_json, options_json";

const ADDRESS_LENGTH = 32;

export function toBytes(address: Address): Uint8Array {
  return new Uint8Array(Buffer.from(address, "hex"));
}

/** @throws CatalogError `damaged` */
export function toAddress(value: Value | undefined): Address {
  const { buffer, byteOffset, length } = value as Uint8Array;
  if (length !== ADDRESS_LENGTH) throw new CatalogError("damaged", "the catalog is damaged");
  return Buffer.from(buffer, byteOffset, length).toString("hex") as Address;
}

function texts(value: Value | undefined): Texts {
  return JSON.parse(value as string) as Texts;
}

export function toBucket(row: Row): Bucket {
  return {
    id: integer(row["id"]),
    name: row["name"] as string,
    owner: row["owner"] as string,
    region: row["region"] as string,
    time: integer(row["time"]),
  };
}

export function toObject(row: Row): StoredObject {
  return {
    bucket: integer(row["bucket"]),
    key: row["key"] as Key,
    seq: integer(row["seq"]),
    kind: integer(row["kind"]) === 0 ? "inline" : "manifest",
    root: toAddress(row["root"]),
    parts: integer(row["parts"]),
    ...toAttributes(row),
    tags: JSON.parse(row["tags_json"] as string) as StoredObject["tags"],
    headers: texts(row["headers_json"]),
  };
}

export function toListed(row: Row): ListedObject {
  return { key: row["key"] as Key, ...toAttributes(row) };
}

/** The number that an object's contents and parts belong to; undefined if it is inline. */
export function ownerOf(row: Row): Seq | undefined {
  return row["owner"] === null ? undefined : integer(row["owner"]);
}

export function toAttributes(row: Row): Pick<Part, "size" | "etag" | "time" | "checksums"> {
  return {
    size: integer(row["size"]),
    etag: row["etag"] as string,
    time: integer(row["time"]),
    checksums: texts(row["checksums_json"]),
  };
}

export function toPart(row: Row): Part {
  return { number: integer(row["number"]), seq: integer(row["seq"]), ...toAttributes(row) };
}

export function toRoot(row: Row): PlacedRoot {
  return {
    part: integer(row["part"]),
    address: toAddress(row["address"]),
    size: integer(row["size"]),
    md5: row["md5"] as string,
  };
}

export function toUpload(row: Row): Upload {
  const seq = integer(row["seq"]);
  return {
    id: uploadId(seq, row["secret"] as string),
    seq,
    bucket: integer(row["bucket"]),
    key: row["key"] as Key,
    owner: row["owner"] as string,
    time: integer(row["time"]),
    tags: JSON.parse(row["tags_json"] as string) as Upload["tags"],
    headers: texts(row["headers_json"]),
    options: texts(row["options_json"]),
  };
}

/** The seq first, as 14 digits, so that IDs are in the order of time. */
export function uploadId(seq: Seq, secret: string): string {
  return seq.toString(16).padStart(14, "0") + secret;
}

/** The parts of an upload's ID; undefined if it is none. */
export function parseUploadId(id: string): { seq: Seq; secret: string } | undefined {
  const match = /^([0-9a-f]{14})([0-9a-f]{32})$/u.exec(id);
  const seq = Number.parseInt(match?.[1] ?? "", 16);
  return Number.isSafeInteger(seq) ? { seq, secret: match![2]! } : undefined;
}

/** One thing that a transaction locks. */
export interface Lock {
  readonly id: bigint;
  readonly isShared: boolean;
}

function lockOf(isShared: boolean, name: string, bytes: Uint8Array = new Uint8Array()): Lock {
  const hash = createHash("sha256").update(`${name}\0`).update(bytes).digest();
  return { id: hash.readBigInt64BE(), isShared };
}

/** What writes of a key lock: the key for themselves, and the bucket together with others. */
export function keyLocks(bucket: Seq, key: Key): Lock[] {
  return [lockOf(true, `bucket ${bucket}`), lockOf(false, `key ${bucket}`, key)];
}

export function bucketLock(bucket: Seq): Lock {
  return lockOf(false, `bucket ${bucket}`);
}

/** For all of an upload, or for one part of it, together with others that write other parts. */
export function uploadLocks(seq: Seq, part?: number): Lock[] {
  if (part === undefined) return [lockOf(false, `upload ${seq}`)];
  return [lockOf(true, `upload ${seq}`), lockOf(false, `part ${seq} ${part}`)];
}

/** Takes locks, in an order that all transactions keep, and then runs statements that read. */
export function* locked(
  dialect: Dialect,
  locks: readonly Lock[],
  reads: readonly Statement[],
): Plan<readonly (readonly Row[])[]> {
  const ids = new Map<bigint, boolean>();
  for (const { id, isShared } of locks) ids.set(id, isShared && ids.get(id) !== false);
  const taken = [...ids]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, isShared]) => dialect.lock(id, isShared))
    .filter((lock) => lock !== undefined);
  const results = yield [...taken, ...reads];
  return results.slice(taken.length);
}

/** Shared by all that take a number for a write and register it; a snapshot takes it alone. */
export function sequenceLock(isShared: boolean): Lock {
  return lockOf(isShared, "sequence");
}

/** For putting marks. */
export function markLock(): Lock {
  return lockOf(false, "marks");
}

/** A statement for each batch of values; `make` gets the list for `IN`. */
export function eachBatch(
  values: readonly Value[],
  make: (marks: string, values: Value[]) => Statement,
): Statement[] {
  return batches(values, LIST_LIMIT).map((batch) => {
    const { marks, values } = list(batch);
    return make(marks, values);
  });
}

const SIZES = [64, 8, 1] as const;

/** Statements that insert rows, several at once. `rest` follows the values. */
export function inserts(
  table: string,
  columns: string,
  rows: readonly (readonly Value[])[],
  rest = "",
): Statement[] {
  const statements: Statement[] = [];
  for (let at = 0; at < rows.length;) {
    const size = SIZES.find((size) => size <= rows.length - at)!;
    const some = rows.slice(at, at + size);
    const marks = some.map((row) => `(${row.map(() => "?").join(", ")})`).join(", ");
    statements.push(
      statement(`INSERT INTO ${table} (${columns}) VALUES ${marks} ${rest}`, ...some.flat()),
    );
    at += size;
  }
  return statements;
}
