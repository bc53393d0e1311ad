import { Database } from "bun:sqlite";
import { openCatalog } from "../../src/catalog/open-catalog.ts";
import type { Bucket } from "../../src/catalog/records.ts";
import { makeBucket, put } from "./behaviour/fixture.ts";

/**
 * Makes a catalog with so many objects, and one more, in one bucket: 1,000 below each prefix, those below
 * 1,000 others each, as `00000/000/some/deeper/prefix/000`. Their blobs are in no store.
 */
export async function makeManyKeys(path: string, count: number): Promise<Bucket> {
  const catalog = await openCatalog(path);
  const bucket = await makeBucket(catalog, "bucket");
  await put(catalog, bucket, "~");
  await catalog.close();
  copyObject(path, count);
  return bucket;
}

/** The key with a number: 1,000 in each prefix, below 1,000 prefixes, below others, all of them deep. */
const KEY = "printf('%05d/%03d/some/deeper/prefix/%03d', n / 1000000, n / 1000 % 1000, n % 1000)";

/** Adds copies of the only object under keys by their numbers, each with a root of its own. */
function copyObject(path: string, count: number): void {
  using database = new Database(path);
  // Nobody needs the file if this fails.
  database.run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144;");
  const columns = database
    .query<{ name: string }, []>("SELECT name FROM pragma_table_info('objects')")
    .all()
    .map(({ name }) => name);
  const own: Record<string, string> = {
    key: `CAST(${KEY} AS BLOB)`,
    seq: "1000000 + n",
    root: "randomblob(32)",
  };
  const values = columns.map((name) => own[name] ?? `one.${name}`);
  const { sql } = database
    .query<{ sql: string }, []>("SELECT sql FROM sqlite_schema WHERE name = 'objects_by_root'")
    .get()!;
  // Roots are in no order: sorting them once is faster than to insert each.
  database.run("DROP INDEX objects_by_root");
  database
    .query(
      `WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?),
       one AS MATERIALIZED (SELECT * FROM objects LIMIT 1)
       INSERT INTO objects (${columns.join()}) SELECT ${values.join()} FROM numbers, one`,
    )
    .run(count);
  database.run(sql);
}
