import { closeSync, openSync } from "node:fs";
import { Database as Connection } from "bun:sqlite";
import { CatalogError } from "../catalog.ts";
import { changesOf, type ChangeName, planOf } from "../changes.ts";
import type { Dialect, NumberedRow, Plan, Row, Statement, Value } from "./port.ts";
import { migrations, newerVersion } from "./schema.ts";
import { asCatalogError, attempt } from "./sqlite-errors.ts";

/**
 * `given` is the highest number given out. It may be lost when the machine stops, because taking a number
 * does not wait for the disk; `reserved` is durable and never lower, and where an opened catalog goes on.
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
/** How long a group may run before it commits, in ms, so that its first jobs do not wait for long. */
const GROUP_TIME = 10;

/** What a writer does: a change of the catalog, or to take or reserve numbers of the sequence. */
export type Job =
  | { readonly type: "change"; readonly name: ChangeName; readonly given: readonly unknown[] }
  /** Undefined if the reserved ones are used up. Alone, it does not wait for the disk. */
  | { readonly type: "take"; readonly row: NumberedRow | undefined }
  | { readonly type: "reserve" };

/** What became of a job, as it can be cloned: errors lose their class. */
export type Outcome =
  | { readonly value: unknown }
  | { readonly error: unknown; readonly code: CatalogError["code"] | undefined };

/** The one connection of a process that writes. */
export interface Writer {
  /**
   * Runs jobs in one transaction, each one in a savepoint, so that one that fails takes no other with it.
   *
   * @returns an outcome for each of the first jobs, once they are durable; there was no time for the others
   */
  run(jobs: readonly Job[]): Promise<readonly Outcome[]>;
  close(): Promise<void>;
}

/**
 * Opens a catalog in a file for writing, or makes it.
 *
 * @throws CatalogError
 */
export async function openWriter(path: string, makeChanges = changesOf): Promise<Writer> {
  const connection = await attempt(() => connect(path));
  const changes = makeChanges(dialect);
  const execute = prepared(connection);
  const run = (job: Job): unknown => {
    if (job.type === "change") return drive(planOf(changes, job.name, job.given), execute);
    if (job.type === "take") return takeNumber(execute, job.row);
    execute({
      sql: "UPDATE sequence SET reserved = given + ? WHERE id = 1 AND reserved < given + ?",
      values: [RESERVED, RESERVED / 2],
    });
    return undefined;
  };
  try {
    await attempt(() => {
      inTransaction(connection, true, () => {
        migrate(connection);
        // After a power failure `given` may be too low.
        execute({
          sql: "UPDATE sequence SET given = reserved, reserved = reserved + ? WHERE id = 1",
          values: [RESERVED],
        });
      });
    });
  } catch (error) {
    connection.close();
    throw error;
  }
  return {
    async run(jobs) {
      const isDurable = jobs.some(({ type }) => type !== "take");
      try {
        return await attempt(() =>
          inTransaction(connection, isDurable, () => runAll(connection, jobs, run)),
        );
      } catch (error) {
        return jobs.map(() => failure(error));
      }
    },
    async close() {
      connection.close();
    },
  };
}

/** An error as an outcome. */
export function failure(given: unknown): Outcome {
  const error = asCatalogError(given);
  return { error, code: error instanceof CatalogError ? error.code : undefined };
}

function connect(path: string): Connection {
  // Names and hashes of plaintext are nobody else's business. The log gets the mode of the file.
  closeSync(openSync(path, "a", 0o600));
  const connection = new Connection(path, { create: true });
  try {
    connection.run("PRAGMA journal_mode = WAL; PRAGMA cache_size = -32768;");
  } catch (error) {
    connection.close();
    throw error;
  }
  return connection;
}

function migrate(connection: Connection): void {
  const steps = migrations(dialect);
  const row = connection.query("PRAGMA user_version").get() as { user_version: number };
  if (row.user_version > steps.length) throw newerVersion();
  for (const step of steps.slice(row.user_version)) connection.run(step);
  connection.run(`PRAGMA user_version = ${steps.length}`);
}

function inTransaction<T>(connection: Connection, isDurable: boolean, work: () => T): T {
  // Of the log, NORMAL leaves only the wait for the disk out. Prepared, because it changes often.
  connection.query(isDurable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL").run();
  connection.run("BEGIN IMMEDIATE");
  try {
    const result = work();
    connection.run("COMMIT");
    return result;
  } catch (error) {
    if (connection.inTransaction) connection.run("ROLLBACK");
    throw error;
  }
}

/** Runs jobs until the time of a group is over. */
function runAll(
  connection: Connection,
  jobs: readonly Job[],
  run: (job: Job) => unknown,
): Outcome[] {
  const [only, ...others] = jobs;
  // Its error ends the transaction.
  if (others.length === 0) return only === undefined ? [] : [{ value: run(only) }];
  const outcomes: Outcome[] = [];
  const end = performance.now() + GROUP_TIME;
  for (const job of jobs) {
    if (outcomes.length > 0 && performance.now() > end) break;
    connection.run("SAVEPOINT job");
    try {
      outcomes.push({ value: run(job) });
    } catch (error) {
      // A full disk ends the whole transaction.
      if (!connection.inTransaction) throw error;
      connection.run("ROLLBACK TO job");
      outcomes.push(failure(error));
    }
    connection.run("RELEASE job");
  }
  return outcomes;
}

function takeNumber(
  execute: (statement: Statement) => Row[],
  row: NumberedRow | undefined,
): number | undefined {
  const [taken] = execute({
    sql: "UPDATE sequence SET given = given + 1 WHERE id = 1 AND given < reserved RETURNING given",
    values: [],
  });
  if (taken === undefined) return undefined;
  const seq = taken["given"] as number;
  if (row !== undefined) {
    const { table, columns, values } = row;
    const marks = columns.map(() => ", ?").join("");
    execute({
      sql: `INSERT INTO ${table} (${["seq", ...columns].join(", ")}) VALUES (?${marks})`,
      values: [seq, ...values],
    });
  }
  return seq;
}

/** Runs a plan's statements on a connection, at once. */
export function drive<T>(plan: Plan<T>, execute: (statement: Statement) => Row[]): T {
  let step = plan.next();
  while (step.done !== true) step = plan.next(step.value.map(execute));
  return step.value;
}

/** Runs statements on a connection, which keeps what it has prepared. */
export function prepared(connection: Connection): (statement: Statement) => Row[] {
  return ({ sql, values }) => connection.query<Row, Value[]>(sql).all(...values);
}
