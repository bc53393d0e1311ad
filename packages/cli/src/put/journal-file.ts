import { Database, SQLiteError, type Statement } from "bun:sqlite";
import { closeSync, openSync, rmSync } from "node:fs";
import type { RecordSeal } from "./journal-seal.ts";

/**
 * Sealed records by number, in an SQLite database that one process has to itself. A record that was
 * written outlives the end of the process, however it comes; after a power cut the last ones may be
 * missing. SQLite's lock ends with the process that holds it, so nothing is left to be cleared away.
 */
export interface JournalFile {
  /** Whether there was something under this name that could not be used, and is discarded. */
  readonly discarded: boolean;
  /** How many records there are. */
  count(): number;
  /** @returns undefined where there is none, or what is there was not sealed for this place */
  read(id: number): Uint8Array | undefined;
  /** @throws the system's own error, such as a full disk */
  write(id: number, record: Uint8Array): void;
  clear(): void;
  close(): void;
  /** Clears, closes and removes the file. */
  remove(): void;
}

/** Changes with what the records mean. A journal of another version is discarded. */
const VERSION = 1;

/**
 * Opens a journal, or begins one, readable by its owner alone.
 *
 * @param name of what the journal is about: a record copied from another one does not open
 * @returns undefined where another process has it open
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
  const place = (id: number) => `${name} ${id}`;
  const clear = (): void => void database.run("DELETE FROM records");
  return {
    discarded,
    count: () =>
      database.query<{ n: number }, []>("SELECT count(*) AS n FROM records").get()?.n ?? 0,
    read(id) {
      const found = select.get(id);
      return found?.sealed instanceof Uint8Array ? seal.open(place(id), found.sealed) : undefined;
    },
    write: (id, record) => void insert.run(id, seal.seal(place(id), record)),
    clear,
    close: () => database.close(),
    remove() {
      // First, because another process may have opened the file and be waiting for its turn.
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
  // A database, but not one of these.
  "SQLITE_ERROR",
  UNUSABLE_CODE,
]);

interface Records {
  readonly database: Database;
  readonly select: Statement<{ sealed: unknown }, [number]>;
  readonly insert: Statement<unknown, [number, Uint8Array]>;
}

function openRecords(path: string): Records {
  // SQLite gives the files beside it the mode of the database.
  closeSync(openSync(path, "a", 0o600));
  const database = new Database(path, { readwrite: true, strict: true });
  try {
    database.run("PRAGMA locking_mode = EXCLUSIVE");
    database.run("PRAGMA journal_mode = WAL");
    // Whole after a power cut, without waiting for the disk at each record.
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

/** The primary code: extended ones say more than is asked here. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  const code = String(error.code);
  return error instanceof SQLiteError ? /^SQLITE_[A-Z]+/u.exec(code)?.[0] : code;
}
