import type { ListOptions, Page } from "../catalog.ts";
import { LISTED_COLUMNS, toListed, toUpload, UPLOAD_COLUMNS } from "./convert.ts";
import {
  batches,
  list,
  LIST_LIMIT,
  rows,
  type Dialect,
  type Plan,
  type Value,
} from "../database/port.ts";
import type { Key, ListedObject, Seq, Upload } from "../records.ts";

/**
 * What comes right behind all byte strings that begin with this one: nothing in UTF-8 has a byte 255, so
 * one can be added to the last byte. The empty string has no such end.
 */
function endOf(prefix: Uint8Array): Uint8Array {
  const end = new Uint8Array(prefix);
  end[end.length - 1]! += 1;
  return end;
}

function successorOf(key: Key): Key {
  return Buffer.concat([key, Uint8Array.of(0)]);
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  return Buffer.compare(bytes.subarray(0, prefix.length), prefix) === 0;
}

/** The common prefix that a key is rolled up into, if it is. */
function commonPrefix(
  key: Key,
  { prefix, delimiter }: Pick<ListOptions, "prefix" | "delimiter">,
): Uint8Array | undefined {
  if (delimiter === undefined || !startsWith(key, prefix)) return undefined;
  const at = Buffer.from(key.buffer, key.byteOffset, key.length).indexOf(delimiter, prefix.length);
  return at < 0 ? undefined : new Uint8Array(key.subarray(0, at + delimiter.length));
}

/** The first key that may be listed: equal or greater. With `isSame`, `after` itself may be. */
function startOf(options: ListOptions, isSame: boolean): Key {
  const { prefix, after, isPrefixListed = false } = options;
  if (after === undefined) return prefix;
  const listed = isPrefixListed ? commonPrefix(after, options) : undefined;
  const start = listed === undefined ? (isSame ? after : successorOf(after)) : endOf(listed);
  return Buffer.compare(start, prefix) > 0 ? start : prefix;
}

interface Range {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** The condition that a key is in the page's range from a start on. */
function rangeOf({ bucket, prefix }: ListOptions, start: string, given: readonly Value[]): Range {
  if (prefix.length === 0)
    return { sql: `bucket = ? AND key >= ${start}`, values: [bucket, ...given] };
  return {
    sql: `bucket = ? AND key >= ${start} AND key < ?`,
    values: [bucket, ...given, endOf(prefix)],
  };
}

/**
 * The first keys of a range, of those with a common prefix only the first: each step seeks behind what the
 * one before has found, so it costs the same however many keys have a prefix.
 */
function* walk(
  dialect: Dialect,
  table: "objects" | "uploads",
  options: ListOptions,
  delimiter: Uint8Array,
  start: Key,
  limit: number,
): Plan<Key[]> {
  const { prefix } = options;
  // The prefix's length is a column: databases keep each text that they have prepared.
  const place = dialect.position("?", "substr(walk.key, walk.length + 1)");
  const behindPrefix = dialect.joined(`substr(walk.key, 1, walk.length + ${place} - 1)`, "?");
  const behindKey = dialect.joined("walk.key", "?");
  const next = `CASE WHEN ${place} > 0 THEN ${behindPrefix} ELSE ${behindKey} END`;
  const first = rangeOf(options, "?", [start]);
  const further = rangeOf(options, `(${next})`, [
    delimiter,
    delimiter,
    endOf(delimiter),
    Uint8Array.of(0),
  ]);
  const found = yield* rows(
    `WITH RECURSIVE walk (step, length, key) AS (
       SELECT 1, CAST(? AS INTEGER),
         (SELECT key FROM ${table} WHERE ${first.sql} ORDER BY key LIMIT 1)
       UNION ALL
       SELECT step + 1, length,
         (SELECT key FROM ${table} WHERE ${further.sql} ORDER BY key LIMIT 1)
       FROM walk WHERE walk.key IS NOT NULL AND step < ?
     )
     SELECT key FROM walk WHERE key IS NOT NULL ORDER BY step`,
    prefix.length,
    ...first.values,
    ...further.values,
    limit,
  );
  return found.map((row) => row["key"] as Key);
}

/** Puts a page together from rows and common prefixes, both in the order of keys. */
function toPage<Entry extends { readonly key: Key }>(
  entries: readonly Entry[],
  prefixes: readonly Uint8Array[],
  limit: number,
): Page<Entry> {
  const page = { entries: [] as Entry[], prefixes: [] as Uint8Array[] };
  let last: { after: Uint8Array; isPrefixListed: boolean } | undefined;
  for (;;) {
    const entry = entries[page.entries.length];
    const prefix = prefixes[page.prefixes.length];
    if (entry === undefined && prefix === undefined) return { ...page, next: undefined };
    if (page.entries.length + page.prefixes.length === limit) return { ...page, next: last };
    if (prefix === undefined || (entry !== undefined && Buffer.compare(entry.key, prefix) < 0)) {
      page.entries.push(entry!);
      last = { after: entry!.key, isPrefixListed: false };
    } else {
      page.prefixes.push(prefix);
      last = { after: prefix, isPrefixListed: true };
    }
  }
}

const EMPTY = { entries: [], prefixes: [], next: undefined } as const;

/** How many objects are read to see whether keys are rolled up at all. */
const SAMPLE = 8;

export function* listObjects(dialect: Dialect, options: ListOptions): Plan<Page<ListedObject>> {
  const { bucket, delimiter, limit } = options;
  if (limit === 0) return EMPTY;
  const start = startOf(options, false);
  // Reading on is faster than seeking as long as there is nothing to skip.
  const wanted = limit + 1;
  const sampled = delimiter === undefined ? wanted : Math.min(SAMPLE, wanted);
  const isRolledUp = ({ key }: ListedObject) => commonPrefix(key, options) !== undefined;
  let found = yield* scan(options, start, sampled);
  if (found.length === sampled && sampled < wanted && !found.some(isRolledUp)) {
    found = yield* scan(options, start, wanted);
  }
  const first = found.findIndex(isRolledUp);
  if (delimiter === undefined || first < 0) return toPage(found, [], limit);
  const entries = found.slice(0, first);
  const from = found[first]!.key;
  const keys = yield* walk(dialect, "objects", options, delimiter, from, wanted - first);
  const { own, prefixes } = divide(keys, options);
  for (const batch of batches(own, LIST_LIMIT)) {
    const { marks, values } = list(batch);
    const further = yield* rows(
      `SELECT ${LISTED_COLUMNS} FROM objects WHERE bucket = ? AND key IN ${marks} ORDER BY key`,
      bucket,
      ...values,
    );
    entries.push(...further.map(toListed));
  }
  return toPage(entries, prefixes, limit);
}

/** The first objects of a range, whether they are rolled up or not. */
function* scan(options: ListOptions, start: Key, limit: number): Plan<ListedObject[]> {
  const range = rangeOf(options, "?", [start]);
  const found = yield* rows(
    `SELECT ${LISTED_COLUMNS} FROM objects WHERE ${range.sql} ORDER BY key LIMIT ?`,
    ...range.values,
    limit,
  );
  return found.map(toListed);
}

/** Which keys are listed themselves, and the common prefixes of the others. */
function divide(
  keys: readonly Key[],
  options: ListOptions,
): { own: Key[]; prefixes: Uint8Array[] } {
  const own: Key[] = [];
  const prefixes: Uint8Array[] = [];
  for (const key of keys) {
    const common = commonPrefix(key, options);
    if (common === undefined) own.push(key);
    else prefixes.push(common);
  }
  return { own, prefixes };
}

export function* listUploads(
  dialect: Dialect,
  options: ListOptions & { readonly afterId?: string },
  afterSeq: number,
): Plan<Page<Upload>> {
  const { bucket, prefix, delimiter, limit, after } = options;
  if (limit === 0) return EMPTY;
  // Uploads of the marker's key that began later than the marker's are in the page.
  const start = startOf(options, afterSeq > 0);
  const isMarker = after !== undefined && Buffer.compare(start, after) === 0;
  const place: readonly Value[] = [start, isMarker ? afterSeq : 0];
  let uploads: Upload[] = [];
  let prefixes: Uint8Array[] = [];
  if (delimiter === undefined) {
    const end = prefix.length === 0 ? "" : "AND key < ?";
    const found = yield* rows(
      `SELECT ${UPLOAD_COLUMNS} FROM uploads
       WHERE bucket = ? AND (key, seq) > (?, CAST(? AS BIGINT)) ${end} ORDER BY key, seq LIMIT ?`,
      bucket,
      ...place,
      ...(prefix.length === 0 ? [] : [endOf(prefix)]),
      limit + 1,
    );
    uploads = found.map(toUpload);
  } else {
    // The marker's key may have no further upload.
    const keys = yield* walk(dialect, "uploads", options, delimiter, start, limit + 2);
    const divided = divide(keys, options);
    ({ prefixes } = divided);
    // Each key from its first upload on, but for the marker's, which comes first.
    for (const batch of batches(divided.own, LIST_LIMIT)) {
      const [first] = batch;
      const isFirst = isMarker && Buffer.compare(first!, start) === 0;
      if (isFirst) {
        const further = yield* uploadsOf(bucket, [first!], afterSeq, limit + 1);
        uploads.push(...further);
      }
      const others = isFirst ? batch.slice(1) : batch;
      if (others.length > 0) uploads.push(...(yield* uploadsOf(bucket, others, 0, limit + 1)));
      if (uploads.length > limit) break;
    }
  }
  const page = toPage(uploads, prefixes, limit);
  const last = page.entries.at(-1);
  if (page.next === undefined || page.next.isPrefixListed || last === undefined) return page;
  return { ...page, next: { ...page.next, afterId: last.id } };
}

/** The first uploads of keys, of each with a seq above the given one. */
function* uploadsOf(bucket: Seq, keys: readonly Key[], above: Seq, limit: number): Plan<Upload[]> {
  const { marks, values } = list(keys);
  const found = yield* rows(
    `SELECT ${UPLOAD_COLUMNS} FROM uploads
     WHERE bucket = ? AND key IN ${marks} AND seq > ? ORDER BY key, seq LIMIT ?`,
    bucket,
    ...values,
    above,
    limit,
  );
  return found.map(toUpload);
}
