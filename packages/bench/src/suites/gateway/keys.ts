/** Buckets with many keys: in an object store one by one, in a catalog of the gateway by SQL. */
import { Database } from "bun:sqlite";
import { openCatalog } from "@idk/gateway";
import type { Address } from "@idk/storage";
import { sha256 } from "../../harness/content.ts";
import { inLanes } from "../../harness/interleave.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import type { Random } from "../../statistics/random.ts";
import type { ObjectStoreAccess } from "../../suite.ts";
import { BUCKET } from "./serving.ts";

/** Keys of a listing. */
export const PAGE = 1000;
/** What each object has. */
export const CONTENT: Uint8Array<ArrayBuffer> = new Uint8Array(16);

const PUTS_AT_ONCE = 16;
const MD5 = "4ae71336e44bf9bf79d2752e234818a5";

/** The name of a key, counted from 0, in the order of the numbers. It is also that of a blob. */
export function nameOf(index: number): string {
  return index.toString(16).padStart(64, "0");
}

/** How keys are named, by their numbers and in the order of these. */
interface Naming {
  nameOf(index: number): string;
  /** The same in SQL, of the number `n`. */
  readonly sql: string;
}

/** The names of blobs. */
const FLAT: Naming = { nameOf, sql: "printf('%064x', n)" };

/** In each folder: as many as the last two digits of a name can count. */
const IN_FOLDER = 256;

/** In folders. */
export const IN_FOLDERS: Naming = {
  nameOf: (index) => nameOf(index).replace(/..$/u, "/$&"),
  sql: "printf('%062x/%02x', n / 256, n % 256)",
};

/** Names that have to be found, in their order. */
export interface Wanted {
  readonly names: readonly string[];
  readonly sha256: string;
}

/** A full page of a listing. */
export interface Page extends Wanted {
  /** The name before it. */
  readonly after: string;
}

/** A page from a random key on. There are more keys than a page has. */
export function pageOf(count: number, random: Random, naming: Naming = FLAT): Page {
  const first = Math.floor(random() * (count - PAGE));
  const names = Array.from({ length: PAGE }, (_, i) => naming.nameOf(first + 1 + i));
  return { after: naming.nameOf(first), ...wanted(names) };
}

/** A page of folders from a random one on, of keys that are in folders. It is shorter if they are few. */
export function folderPageOf(count: number, random: Random): Page {
  const keyOf = (folder: number, inFolder: number) =>
    IN_FOLDERS.nameOf(folder * IN_FOLDER + inFolder);
  const folders = Math.ceil(count / IN_FOLDER);
  const first = 1 + Math.floor(random() * Math.max(0, folders - PAGE));
  const length = Math.min(PAGE, folders - first);
  const names = Array.from({ length }, (_, i) => keyOf(first + i, 0).replace(/[^/]+$/u, ""));
  return { after: keyOf(first - 1, IN_FOLDER - 1), ...wanted(names) };
}

/** Random keys. */
export function anyNames(count: number, length: number, random: Random): Wanted {
  return wanted(Array.from({ length }, () => nameOf(Math.floor(random() * count))));
}

function wanted(names: readonly string[]): Wanted {
  return { names, sha256: hashOfNames(names) };
}

function hashOfNames(names: readonly string[]): string {
  return sha256(Buffer.from(names.join("\n")));
}

/** @throws Error if other names were found */
export function expectNames(found: readonly string[], { sha256: hash }: Wanted): void {
  if (hashOfNames(found) !== hash) throw new Error("wrong names came back");
}

/** Puts an object for each key. @throws the signal's reason */
export async function fillStore(
  access: ObjectStoreAccess,
  count: number,
  signal: AbortSignal,
): Promise<void> {
  const s3 = bareS3(access);
  const hash = sha256(CONTENT);
  const indexes = Array.from({ length: count }, (_, i) => i);
  await inLanes(indexes, PUTS_AT_ONCE, (index) => {
    signal.throwIfAborted();
    return s3.put(nameOf(index), CONTENT, hash);
  });
}

/**
 * Makes a catalog with keys whose objects are in no store: HEAD and LIST do not need them. It has a snapshot
 * already, so that a gateway which opens it does not store one while it is measured.
 *
 * @param prefix of the keys
 */
export async function fillCatalog(
  file: string,
  prefix: string,
  count: number,
  naming: Naming = FLAT,
): Promise<void> {
  const catalog = await openCatalog(file);
  const now = Date.now();
  const about = { name: BUCKET, owner: "BENCH", region: "us-east-1", time: now };
  const { bucket } = await catalog.createBucket(about);
  // The others are copies of it. Its number raises the sequence above theirs.
  const highest = bucket.id + count;
  await catalog.importRows([
    {
      type: "object",
      object: {
        bucket: bucket.id,
        key: new TextEncoder().encode(prefix + naming.nameOf(0)),
        seq: highest,
        kind: "inline",
        root: nameOf(0) as Address,
        size: CONTENT.length,
        etag: MD5,
        time: now,
        checksums: {},
        tags: [],
        headers: { "content-type": "binary/octet-stream" },
        parts: 0,
      },
      contents: [],
      parts: [],
    },
  ]);
  const seq = await catalog.nextSeq();
  await catalog.recordSnapshot({ seq, time: now, name: "0".repeat(64) });
  await catalog.close();
  copyObjects(file, { prefix, lastSeq: bucket.id, count, naming });
}

interface Copies {
  readonly prefix: string;
  /** Of the object that is copied. */
  readonly lastSeq: number;
  /** With that object. */
  readonly count: number;
  readonly naming: Naming;
}

/** Adds copies of the only object under other keys, in their order, so that each index grows at its end. */
function copyObjects(file: string, { prefix, lastSeq, count, naming }: Copies): void {
  const own: Readonly<Record<string, string>> = {
    key: `CAST($prefix || ${naming.sql} AS BLOB)`,
    seq: "$seq + n",
    root: "unhex(printf('%064x', n))",
  };
  using database = new Database(file);
  // Nobody needs the file if this fails.
  database.run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144;");
  const columns = database
    .query<{ name: string }, []>("SELECT name FROM pragma_table_info('objects')")
    .all()
    .map(({ name }) => name);
  const missing = Object.keys(own).filter((name) => !columns.includes(name));
  if (missing.length > 0) throw new Error(`objects have no column ${missing.join()}`);
  const values = columns.map((name) => own[name] ?? `one.${name}`);
  database
    .query(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < $count),
       one AS MATERIALIZED (SELECT * FROM objects LIMIT 1)
       INSERT INTO objects (${columns.join()}) SELECT ${values.join()} FROM numbers, one`,
    )
    .run({ $count: count, $prefix: prefix, $seq: lastSeq });
}
