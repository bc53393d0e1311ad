/** A value of SQLite: integers up to 2^53, text, bytes or null. */
export type Value = number | string | Uint8Array | null;
export type Row = Readonly<Record<string, Value>>;

export interface Statement {
  run(...values: Value[]): void;
  all(...values: Value[]): Row[];
}

/** What the SQLite of Bun and that of Node have in common. */
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
      exec: (sql) => void database.run(sql),
      prepare: (sql) => {
        const statement = database.prepare<Row, Value[]>(sql);
        statements.push(statement);
        return {
          run: (...values) => void statement.run(...values),
          all: (...values) => statement.all(...values),
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
    exec: (sql) => database.exec(sql),
    prepare: (sql) => {
      const statement = database.prepare(sql);
      return {
        run: (...values) => void statement.run(...values),
        all: (...values) => statement.all(...values) as Row[],
      };
    },
    close: () => database.close(),
  };
}
