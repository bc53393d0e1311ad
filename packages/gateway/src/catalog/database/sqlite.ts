import { closeSync, openSync } from "node:fs";
import { Database as Connection } from "bun:sqlite";
import { CatalogError } from "../catalog.ts";
import type { Database, Dialect, NumberedRow, Plan, Row, Statement, Value } from "./port.ts";
import { migrations, newerVersion } from "./schema.ts";

/**
 * `given` is the highest number given out. It may be lost when the machine stops, because `nextSeq` does
 * not wait for the disk; `reserved` is durable and never lower, and where an opened catalog goes on.
 */
export const dialect: Dialect = {
  name: "sqlite",
  bytes: "BLOB",
  binary: "",
  clustered: "WITHOUT ROWID",
  createSequence: `CREATE TABLE sequence (
       id INTEGER PRIMARY KEY CHECK (id = 1),
       given INTEGER NOT NULL,
       reserved INTEGER NOT NULL
     );
     INSERT INTO sequence VALUES (1, 0, 0)`,
  nextSeq:
    "UPDATE sequence SET given = given + 1, reserved = MAX(reserved, given + 1) WHERE id = 1 RETURNING given AS seq",
  highestSeq: "SELECT reserved AS seq FROM sequence WHERE id = 1",
  raiseSeq:
    "UPDATE sequence SET given = MAX(given, v), reserved = MAX(reserved, v) FROM (SELECT ? AS v) WHERE id = 1",
  position: (needle, haystack) => `instr(${haystack}, ${needle})`,
  joined: (a, b) => `CAST(${a} || ${b} AS BLOB)`,
  rowLock: "",
  lock: () => undefined,
};

const RESERVED = 10_000;
/** So many transactions share one commit, and so one wait for the disk. */
const GROUP = 64;
/** How long a group may run before it commits, in ms, so that other work of the process gets its turn. */
const GROUP_TIME = 10;
/** How long to try while another process writes, in ms. */
const BUSY_TIME = 30_000;
const [BUSY, LOCKED, CORRUPT, NOTADB] = [5, 6, 11, 26] as const;

interface Job {
  /** Runs in the transaction; returns what to do once that is committed. */
  run(): () => void;
  fail(error: unknown): void;
  readonly isDurable: boolean;
}

/** Opens a catalog in a file, or makes it. */
export async function openSqlite(path: string): Promise<Database> {
  const opened = await attempt(() => connect(path));
  const { writer, reader } = opened;
  const write = prepared(writer);
  const readNow = prepared(reader);
  const read = (statement: Statement): Row[] => {
    if (isClosed) throw closed();
    return readNow(statement);
  };
  const queue: Job[] = [];
  let isRunning = false;
  let isClosed = false;

  const enqueue = <T>(isDurable: boolean, body: () => T): Promise<T> =>
    new Promise((resolve, reject) => {
      if (isClosed) {
        reject(closed());
        return;
      }
      queue.push({
        isDurable,
        run: () => {
          const result = body();
          return () => resolve(result);
        },
        fail: (error) => reject(asCatalogError(error)),
      });
      if (!isRunning) void drain();
    });

  const drain = async (): Promise<void> => {
    isRunning = true;
    // What is asked for in the same moment becomes one group.
    await Promise.resolve();
    while (queue.length > 0) {
      const group = queue.splice(0, GROUP);
      try {
        const rest = await attempt(() => runGroup(writer, group));
        queue.unshift(...rest);
      } catch (error) {
        for (const job of group) job.fail(error);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    isRunning = false;
  };

  const nextSeq = (numbered?: NumberedRow): Promise<number> =>
    enqueue(false, () => {
      const take =
        "UPDATE sequence SET given = given + 1 WHERE id = 1 AND given < reserved RETURNING given";
      const [row] = write({ sql: take, values: [] });
      if (row === undefined) return undefined;
      const seq = row["given"] as number;
      if (numbered !== undefined) write(insertOf(numbered, seq));
      return seq;
    }).then((seq) => seq ?? reserve().then(() => nextSeq(numbered)));
  const reserve = (): Promise<void> =>
    enqueue(true, () => {
      write({
        sql: "UPDATE sequence SET reserved = given + ? WHERE id = 1 AND reserved < given + ?",
        values: [RESERVED, RESERVED / 2],
      });
    });

  try {
    await enqueue(true, () => migrate(writer));
    // After a power failure `given` may be too low.
    await enqueue(true, () => {
      write({
        sql: "UPDATE sequence SET given = reserved, reserved = reserved + ? WHERE id = 1",
        values: [RESERVED],
      });
    });
  } catch (error) {
    opened.close();
    throw error;
  }

  return {
    dialect,
    nextSeq,
    write: (plan) => enqueue(true, () => drive(plan(), write)),
    query: async (plan) => attempt(() => drive(plan(), read)),
    read: async (plan) =>
      attempt(() => {
        reader.run("BEGIN");
        try {
          return drive(plan(), read);
        } finally {
          reader.run("COMMIT");
        }
      }),
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      while (isRunning) await new Promise((resolve) => setImmediate(resolve));
      opened.close();
    },
  };
}

function insertOf({ table, columns, values }: NumberedRow, seq: number): Statement {
  const marks = columns.map(() => ", ?").join("");
  return {
    sql: `INSERT INTO ${table} (${["seq", ...columns].join(", ")}) VALUES (?${marks})`,
    values: [seq, ...values],
  };
}

function closed(): CatalogError {
  return new CatalogError("usage", "the catalog is closed");
}

function connect(path: string): { writer: Connection; reader: Connection; close(): void } {
  // Names and hashes of plaintext are nobody else's business. The log gets the mode of the file.
  closeSync(openSync(path, "a", 0o600));
  const open: Connection[] = [];
  try {
    for (const pragmas of [
      "PRAGMA journal_mode = WAL; PRAGMA cache_size = -32768;",
      "PRAGMA query_only = ON; PRAGMA cache_size = -32768;",
    ]) {
      const connection = new Connection(path, { create: true });
      open.push(connection);
      connection.run(pragmas);
    }
  } catch (error) {
    for (const connection of open) connection.close();
    throw error;
  }
  const [writer, reader] = open as [Connection, Connection];
  return {
    writer,
    reader,
    close: () => {
      // The writer last, because the last one to be closed moves the log into the file.
      reader.close();
      writer.close();
    },
  };
}

/** Runs jobs in one transaction, each one in a savepoint. Returns those that there was no time for. */
function runGroup(writer: Connection, group: Job[]): Job[] {
  const isDurable = group.some((job) => job.isDurable);
  // Of the log, NORMAL leaves only the wait for the disk out.
  writer.run(isDurable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  writer.run("BEGIN IMMEDIATE");
  const done: (() => void)[] = [];
  const failed: (() => void)[] = [];
  const end = performance.now() + GROUP_TIME;
  let ran = 0;
  try {
    for (const job of group) {
      if (ran > 0 && performance.now() > end) break;
      ran++;
      writer.run("SAVEPOINT job");
      try {
        done.push(job.run());
      } catch (error) {
        // A full disk ends the whole transaction.
        if (!writer.inTransaction) throw error;
        writer.run("ROLLBACK TO job");
        failed.push(() => job.fail(error));
      }
      writer.run("RELEASE job");
    }
    writer.run("COMMIT");
  } catch (error) {
    if (writer.inTransaction) writer.run("ROLLBACK");
    throw error;
  }
  for (const settle of [...done, ...failed]) settle();
  return group.splice(ran);
}

function migrate(writer: Connection): void {
  const steps = migrations(dialect);
  const row = writer.query("PRAGMA user_version").get() as { user_version: number };
  if (row.user_version > steps.length) throw newerVersion();
  for (const step of steps.slice(row.user_version)) writer.run(step);
  writer.run(`PRAGMA user_version = ${steps.length}`);
}

/** Runs a plan's statements on a connection, at once. */
function drive<T>(plan: Plan<T>, run: (statement: Statement) => Row[]): T {
  let step = plan.next();
  while (step.done !== true) step = plan.next(step.value.map(run));
  return step.value;
}

function prepared(connection: Connection): (statement: Statement) => Row[] {
  // `query` keeps what it has prepared.
  return ({ sql, values }) => connection.query<Row, Value[]>(sql).all(...values);
}

/** Repeats a call while another process has the database locked, without blocking this one. */
async function attempt<T>(call: () => T): Promise<T> {
  const end = performance.now() + BUSY_TIME;
  for (let tries = 0; ; tries++) {
    try {
      return call();
    } catch (error) {
      const code = sqliteCode(error);
      if ((code !== BUSY && code !== LOCKED) || performance.now() > end)
        throw asCatalogError(error);
    }
    // Random, so that two processes do not keep meeting.
    await Bun.sleep(Math.random() * Math.min(1 + tries, 20));
  }
}

function sqliteCode(error: unknown): number | undefined {
  const { code, errno } = (error ?? {}) as { code?: unknown; errno?: unknown };
  if (typeof code !== "string" || !code.startsWith("SQLITE")) return undefined;
  return typeof errno === "number" ? errno & 0xff : undefined;
}

/** An error of SQLite as one of the catalog; a fault of the program as it is. */
function asCatalogError(error: unknown): unknown {
  const code = sqliteCode(error);
  if (!(error instanceof Error) || (code === undefined && !("syscall" in error))) return error;
  const text = error.message;
  if (code === CORRUPT || code === NOTADB) {
    return new CatalogError("damaged", `the catalog is damaged: ${text}; rebuild it`, {
      cause: error,
    });
  }
  return new CatalogError("unavailable", `the catalog cannot be used: ${text}`, { cause: error });
}
