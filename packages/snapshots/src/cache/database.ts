/** A value of SQLite: integers up to 2^53, text, bytes or null. */
export type Value = number | string | Uint8Array | null;
export type Row = Readonly<Record<string, Value>>;

export interface Statement {
  run(...values: Value[]): void;
  all(...values: Value[]): Row[];
}

/**
 * The cache is of no use any more: it is damaged, or of a version that this program does not know. Only
 * then is it set aside; one that a full disk or a missing right keeps from being used is good afterwards.
 */
export class UnusableCache extends Error {
  override readonly name = "UnusableCache";
}

/** The primary code of an error of SQLite; undefined if it is another error. */
export function sqliteCode(error: unknown): number | undefined {
  // Bun has the code as a name and as `errno`, Node a name for all errors and the code as `errcode`.
  const { code, errno, errcode = errno } = (error ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof code !== "string" || !code.includes("SQLITE")) return undefined;
  return typeof errcode === "number" ? errcode & 0xff : undefined;
}

export const [BUSY, LOCKED] = [5, 6] as const;
const [ERROR, CORRUPT, NOTADB] = [1, 11, 26] as const;

function checked<T>(damage: readonly (number | undefined)[], call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (!damage.includes(sqliteCode(error))) throw error;
    throw new UnusableCache((error as Error).message, { cause: error });
  }
}

const DAMAGE = [CORRUPT, NOTADB];
/** What is prepared is always the same, so it can only fail because of other tables. */
const OTHER_TABLES = [...DAMAGE, ERROR];

/** What the SQLite of Bun and that of Node have in common. Each call may throw `UnusableCache`. */
export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

/**
 * Opens a database, or makes it.
 *
 * @throws Error if the runtime has no SQLite, which Bun and Node from 22.5 on have, or the file cannot
 *   be opened. One that is none fails with the first statement.
 */
export async function openDatabase(path: string): Promise<Database> {
  if ("bun" in process.versions) {
    const { Database } = await import("bun:sqlite");
    const database = new Database(path, { create: true });
    const statements: { finalize(): void }[] = [];
    return {
      exec: (sql) => checked(DAMAGE, () => void database.run(sql)),
      prepare: (sql) => {
        const statement = checked(OTHER_TABLES, () => database.prepare<Row, Value[]>(sql));
        statements.push(statement);
        return {
          run: (...values) => checked(DAMAGE, () => void statement.run(...values)),
          all: (...values) => checked(DAMAGE, () => statement.all(...values)),
        };
      },
      close: () => {
        // Open statements would keep the file open, and locked.
        for (const statement of statements) statement.finalize();
        database.close(true);
      },
    };
  }
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(path);
  return {
    exec: (sql) => checked(DAMAGE, () => database.exec(sql)),
    prepare: (sql) => {
      const statement = checked(OTHER_TABLES, () => database.prepare(sql));
      return {
        run: (...values) => checked(DAMAGE, () => void statement.run(...values)),
        all: (...values) => checked(DAMAGE, () => statement.all(...values) as Row[]),
      };
    },
    close: () => database.close(),
  };
}
