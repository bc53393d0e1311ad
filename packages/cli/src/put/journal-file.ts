import { Database, SQLiteError, type Statement } from "bun:sqlite";
import { closeSync, openSync, rmSync } from "node:fs";
import type { RecordSeal } from "./journal-seal.ts";

/**
 * Sealed records by number, in an SQLite database that is locked by one process. A written record
 * survives the end of the process, even a kill; a power cut may lose the last ones. SQLite's lock ends
 * with its process, so there are no stale locks.
 */
export interface JournalFile {
  /** Whether an unusable file of this name was discarded. */
  readonly discarded: boolean;
  /** The number of records. */
  count(): number;
  /** @returns undefined if there is none, or it was not sealed for this journal and number */
  read(id: number): Uint8Array | undefined;
  /** @throws the system's own error, such as a full disk */
  write(id: number, record: Uint8Array): void;
  clear(): void;
  close(): void;
  /** Clears, closes and removes the file. */
  remove(): void;
}

/** The version of the records. A journal of another version is discarded. */
const VERSION = 1;

/**
 * Opens or creates a journal that only its owner can read.
 *
 * @param name the journal's name, to which its records are bound
 * @returns undefined if another process has it open
 * @throws the system's own error
 */
export function openJournalFile(
  path: string,
  name: string,
  seal: RecordSeal,
): JournalFile | undefined {
  let discarded = false;
  let records: Records;
  try {
    records = openRecords(path);
  } catch (error) {
    const code = codeOf(error);
    if (code === "SQLITE_BUSY") return undefined;
    if (!UNUSABLE.has(code)) throw error;
    discarded = true;
    removeJournal(path);
    records = openRecords(path);
  }
  const { database, select, insert } = records;
  const context = (id: number) => `${name} ${id}`;
  const clear = (): void => void database.run("DELETE FROM records");
  return {
    discarded,
    count: () =>
      database.query<{ n: number }, []>("SELECT count(*) AS n FROM records").get()?.n ?? 0,
    read(id) {
      const found = select.get(id);
      return found?.sealed instanceof Uint8Array ? seal.open(context(id), found.sealed) : undefined;
    },
    write: (id, record) => void insert.run(id, seal.seal(context(id), record)),
    clear,
    close: () => database.close(),
    remove() {
      // Clear first, because another process may have opened the file and be waiting for the lock.
      clear();
      database.close();
      removeJournal(path);
    },
  };
}

/** Removes a journal that no process has open. */
export function removeJournal(path: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"])
    rmSync(`${path}${suffix}`, { force: true });
}

const UNUSABLE_CODE = "UNUSABLE";
const UNUSABLE: ReadonlySet<string | undefined> = new Set([
  "SQLITE_NOTADB",
  "SQLITE_CORRUPT",
  // Another kind of database.
  "SQLITE_ERROR",
  UNUSABLE_CODE,
]);

interface Records {
  readonly database: Database;
  readonly select: Statement<{ sealed: unknown }, [number]>;
  readonly insert: Statement<unknown, [number, Uint8Array]>;
}

function openRecords(path: string): Records {
  // SQLite gives its other files the mode of the database.
  closeSync(openSync(path, "a", 0o600));
  const database = new Database(path, { readwrite: true, strict: true });
  try {
    database.run("PRAGMA locking_mode = EXCLUSIVE");
    database.run("PRAGMA journal_mode = WAL");
    // Consistent after a power cut, without waiting for the disk at each record.
    database.run("PRAGMA synchronous = NORMAL");
    database.run("BEGIN IMMEDIATE");
    const version = database.query<{ user_version: number }, []>("PRAGMA user_version").get();
    if (version?.user_version === 0) {
      database.run("CREATE TABLE records (id INTEGER PRIMARY KEY, sealed BLOB NOT NULL)");
      database.run(`PRAGMA user_version = ${VERSION}`);
    } else if (version?.user_version !== VERSION) {
      throw unusable("a journal of another version");
    }
    database.run("COMMIT");
    const [check] = database.query<Record<string, unknown>, []>("PRAGMA quick_check(1)").values();
    if (check?.[0] !== "ok") throw unusable("a damaged journal");
    return {
      database,
      select: database.query("SELECT sealed FROM records WHERE id = ?"),
      insert: database.query("INSERT OR REPLACE INTO records VALUES (?, ?)"),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

function unusable(message: string): Error {
  return Object.assign(new Error(message), { code: UNUSABLE_CODE });
}

/** SQLite's primary code, without the extension. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  const code = String(error.code);
  return error instanceof SQLiteError ? /^SQLITE_[A-Z]+/u.exec(code)?.[0] : code;
}
