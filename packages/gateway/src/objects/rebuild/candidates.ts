import { Database } from "bun:sqlite";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Key, Seq, StoredObject } from "../../catalog/records.ts";

/** What identifies an identity root. */
export type Candidate = Pick<StoredObject, "bucket" | "key" | "seq" | "root">;

/** Which identity root each key gets at a rebuild, in a file, because there may be more than memory holds. */
export interface Candidates {
  /** Buries what the key had before. */
  bury(bucket: Seq, key: Key, seq: Seq): void;
  /** Declares a write void. */
  declareVoid(seq: Seq): void;
  /** Whether neither was done to it. After all of them are known. */
  counts(candidate: Candidate): boolean;
  /** @param isWhole whether all of its content roots are there */
  offer(candidate: Candidate, isWhole: boolean): void;
  /**
   * Whether its key gets it: the whole one with the highest seq; if none is whole, the one with the
   * highest seq. True once, if it was offered twice. After all were offered.
   */
  take(candidate: Candidate): boolean;
  /** The roots of keys that have none that is whole, but for the first number of rows. */
  broken(limit: number): { readonly count: number; readonly roots: readonly string[] };
  /** The roots that were passed over for an older one, because their content is not all there. */
  passedOver(limit: number): { readonly count: number; readonly roots: readonly string[] };
  /** Deletes the file. */
  close(): Promise<void>;
}

/** The file is in a folder of its own, for this user alone: it has names. */
export async function createCandidates(parent: string = tmpdir()): Promise<Candidates> {
  const folder = await mkdtemp(join(parent, "idk-rebuild-"));
  const remove = async (): Promise<void> => rm(folder, { recursive: true, force: true });
  let database: Database;
  try {
    database = openDatabase(join(folder, "candidates"));
  } finally {
    // So that nothing is left of it if the process is killed; Windows cannot do that while it is open.
    await remove().catch(() => {});
  }
  const bury = database.query(
    "INSERT INTO buried VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET seq = MAX(seq, excluded.seq)",
  );
  const declareVoid = database.query("INSERT INTO voids VALUES (?) ON CONFLICT DO NOTHING");
  const isBuried = database.query(
    "SELECT 1 FROM buried WHERE name = ? AND seq > ? UNION ALL SELECT 1 FROM voids WHERE seq = ?",
  );
  const offer = database.query(
    `INSERT INTO best VALUES (?1, ?2, ?3, ?4, 0, ?2, ?3)
     ON CONFLICT (name) DO UPDATE SET
       highest_root = CASE WHEN ?2 > highest_seq THEN ?3 ELSE highest_root END,
       highest_seq = MAX(highest_seq, ?2),
       root = CASE WHEN (?4, ?2) > (is_whole, seq) THEN ?3 ELSE root END,
       seq = CASE WHEN (?4, ?2) > (is_whole, seq) THEN ?2 ELSE seq END,
       is_whole = MAX(is_whole, ?4)`,
  );
  const take = database.query(
    `UPDATE best SET is_taken = 1
     WHERE name = ? AND seq = ? AND root = ? AND is_taken = 0 RETURNING seq`,
  );
  const some = (columns: string, condition: string, limit: number) => {
    const [row] = database.query(`SELECT COUNT(*) AS n FROM best WHERE ${condition}`).all() as [
      { n: number },
    ];
    const rows = database
      .query(`SELECT ${columns} AS root FROM best WHERE ${condition} LIMIT ${limit}`)
      .all() as { root: string }[];
    return { count: row.n, roots: rows.map(({ root }) => root) };
  };

  return {
    bury: (bucket, key, seq) => void bury.run(nameOf(bucket, key), seq),
    declareVoid: (seq) => void declareVoid.run(seq),
    counts: ({ bucket, key, seq }) => isBuried.get(nameOf(bucket, key), seq, seq) === null,
    offer: ({ bucket, key, seq, root }, isWhole) =>
      void offer.run(nameOf(bucket, key), seq, root, isWhole ? 1 : 0),
    take: ({ bucket, key, seq, root }) => take.get(nameOf(bucket, key), seq, root) !== null,
    broken: (limit) => some("root", "is_whole = 0", limit),
    passedOver: (limit) => some("highest_root", "is_whole = 1 AND highest_seq > seq", limit),
    async close() {
      database.close();
      await remove();
    },
  };
}

function openDatabase(path: string): Database {
  const database = new Database(path, { create: true });
  try {
    database.run(
      "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -32768;",
    );
    // One transaction: nothing of it outlives the process.
    database.run(`BEGIN;
    CREATE TABLE buried (name BLOB PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE voids (seq INTEGER PRIMARY KEY);
    CREATE TABLE best (
      name BLOB PRIMARY KEY,
      seq INTEGER NOT NULL,
      root TEXT NOT NULL,
      is_whole INTEGER NOT NULL,
      is_taken INTEGER NOT NULL,
      highest_seq INTEGER NOT NULL,
      highest_root TEXT NOT NULL
    ) WITHOUT ROWID;`);
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

function nameOf(bucket: Seq, key: Key): Uint8Array {
  return Buffer.concat([Buffer.from(`${bucket}/`), key]);
}
