import { SQL, type ReservedSQL } from "bun";
import { CatalogError } from "../catalog.ts";
import { changesOf, planOf, type RunChange } from "../changes.ts";
import type { Database } from "./database.ts";
import {
  integer,
  rows,
  type Dialect,
  type NumberedRow,
  type Plan,
  type Row,
  type Statement,
} from "./port.ts";
import { migrations, newerVersion } from "./schema.ts";

export const dialect: Dialect = {
  name: "postgres",
  bytes: "BYTEA",
  binary: 'COLLATE "C"',
  clustered: "",
  createSequence: "CREATE SEQUENCE sequence AS BIGINT",
  nextSeq: "SELECT nextval('sequence') AS seq",
  highestSeq: "SELECT last_value AS seq FROM sequence",
  raiseSeq:
    "SELECT setval('sequence', v) FROM (SELECT CAST(? AS BIGINT) AS v) AS given WHERE v > (SELECT last_value FROM sequence)",
  position: (needle, haystack) => `position(${needle} IN ${haystack})`,
  joined: (a, b) => `(${a} || ${b})`,
  rowLock: "FOR UPDATE",
  lock: (id, isShared) => ({
    sql: `SELECT pg_advisory_xact_lock${isShared ? "_shared" : ""}(CAST(? AS BIGINT))`,
    values: [id.toString()],
  }),
};

/** How long to wait for an answer before the connection is given up, in ms. */
const PATIENCE = 30_000;
/** How often a transaction is repeated that PostgreSQL ended because of others. */
const ATTEMPTS = 10;
/** Serialization failure, deadlock. */
const REPEATED: ReadonlySet<unknown> = new Set(["40001", "40P01"]);
/**
 * Makes the commit of its transaction wait until the log is on the disk, also where the server, the database
 * or the role is set not to: what is acknowledged must survive a crash of the server. All other values of
 * the setting wait for that, and some for standbys, too, so they stay.
 */
const DURABLE = `CASE current_setting('synchronous_commit') WHEN 'off'
  THEN set_config('synchronous_commit', 'on', true) END`;
/** Any number: the lock under which one catalog at a time migrates. */
const MIGRATION_LOCK = "7235419306524";

/**
 * Opens a catalog in a PostgreSQL database, or makes it, in the schema that is first in its search path.
 *
 * @param url `postgres://user:password@host:port/database`. No error contains it.
 * @param connections How many connections to use at most, for writes and for reads each, so that reads
 *   never wait for writes that wait for each other.
 */
export async function openPostgres(
  url: string,
  connections: number,
  makeChanges: typeof changesOf = changesOf,
): Promise<Database> {
  const changes = makeChanges(dialect);
  const pool = (): SQL => new SQL(url, { max: connections, connectionTimeout: PATIENCE / 1000 });
  const [writers, readers] = [pool(), pool()];

  const transact = async <T>(
    sql: SQL,
    begin: string | undefined,
    plan: () => Plan<T>,
  ): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await inConnection(sql, (connection, answered) =>
          drive(connection, begin, plan(), answered),
        );
      } catch (error) {
        if (!REPEATED.has(stateOf(error)) || attempt === ATTEMPTS) throw asCatalogError(error);
      }
      // Random, so that transactions which met do not meet again.
      await Bun.sleep(Math.random() * 10 * attempt);
    }
  };
  let queued = 0;
  const counted = async <T>(call: Promise<T>): Promise<T> => {
    queued += 1;
    try {
      return await call;
    } finally {
      queued -= 1;
    }
  };
  // Whatever the server's default is: a statement behind a lock must see what was committed before it.
  const change = <T>(plan: () => Plan<T>): Promise<T> =>
    transact(writers, `BEGIN ISOLATION LEVEL READ COMMITTED; SELECT ${DURABLE}`, plan);

  try {
    await change(migrate);
  } catch (error) {
    await writers.close({ timeout: 0 });
    throw error;
  }
  return {
    dialect,
    write: ((name, ...given) => counted(change(() => planOf(changes, name, given)))) as RunChange,
    read: (plan) => transact(readers, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", plan),
    query: (plan) => transact(readers, undefined, plan),
    // A commit waits for the disk if its transaction has an ID and has added to the log. `nextval` alone mostly
    // does neither, and what it gave out could be given out again after a crash.
    nextSeq: (numbered) =>
      counted(
        transact(writers, undefined, function* () {
          const [row] =
            numbered === undefined
              ? yield* rows(NEXT_SEQ)
              : yield* rows(insertOf(numbered), numbered.lock.toString(), ...numbered.values);
          return integer(row!["seq"]);
        }),
      ),
    queued: () => queued,
    close: async () => {
      await Promise.all([writers, readers].map((sql) => sql.close({ timeout: PATIENCE / 1000 })));
    },
  };
}

const NEXT_SEQ = `SELECT nextval('sequence') AS seq, pg_logical_emit_message(true, 'idk', ''), ${DURABLE}`;

/** One statement, which is a transaction of its own. The number is taken while the lock is shared. */
function insertOf({ table, columns }: NumberedRow): string {
  return `WITH
    locked AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(CAST(? AS BIGINT)), ${DURABLE}),
    taken AS MATERIALIZED (SELECT nextval('sequence') AS seq FROM locked)
    INSERT INTO ${table} (${["seq", ...columns].join(", ")})
    SELECT ${["seq", ...columns.map(() => "CAST(? AS BIGINT)")].join(", ")} FROM taken
    RETURNING seq`;
}

function* migrate(): Plan<void> {
  yield* rows("SELECT pg_advisory_xact_lock(CAST(? AS BIGINT))", MIGRATION_LOCK);
  yield* rows("CREATE TABLE IF NOT EXISTS catalog_version (version INTEGER NOT NULL)");
  const [row] = yield* rows("SELECT version FROM catalog_version");
  const version = row === undefined ? 0 : integer(row["version"]);
  const steps = migrations(dialect);
  if (version > steps.length) throw newerVersion();
  for (const step of steps.slice(version)) yield* rows(step);
  if (row === undefined) yield* rows("INSERT INTO catalog_version VALUES (?)", steps.length);
  else yield* rows("UPDATE catalog_version SET version = ?", steps.length);
}

/**
 * Runs a call in a connection of its own. If the server stalls, the connection is closed: the call reports
 * each answer.
 */
async function inConnection<T>(
  sql: SQL,
  call: (held: ReservedSQL, answered: () => void) => Promise<T>,
): Promise<T> {
  const held = await sql.reserve({ signal: AbortSignal.timeout(PATIENCE) });
  const timer = setTimeout(() => void held.close({ timeout: 0 }).catch(() => {}), PATIENCE);
  try {
    return await call(held, () => timer.refresh());
  } finally {
    clearTimeout(timer);
    // One with an open transaction is closed instead.
    await held.release().catch(() => {});
  }
}

/** Runs a plan. `begin` goes out together with its first statements. */
async function drive<T>(
  held: ReservedSQL,
  begin: string | undefined,
  plan: Plan<T>,
  answered: () => void,
): Promise<T> {
  // Without values it is not prepared, so it may be several statements.
  const run = ({ sql, values }: Statement): Promise<Row[]> =>
    held.unsafe(numbered(sql), values.length === 0 ? undefined : [...values]);
  let opening = begin === undefined ? [] : [{ sql: begin, values: [] }];
  let step = plan.next();
  try {
    while (step.done !== true) {
      // All have to settle, and the first error is the cause of the others.
      const sent = await Promise.allSettled([...opening, ...step.value].map(run));
      answered();
      const failed = sent.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
      const answers = sent.flatMap((result) =>
        result.status === "fulfilled" ? [result.value] : [],
      );
      const results = answers.slice(opening.length).map((rows) => rows.map(plain));
      opening = [];
      step = plan.next(results);
    }
    if (begin !== undefined) await run({ sql: "COMMIT", values: [] });
    return step.value;
  } catch (error) {
    if (begin !== undefined) await run({ sql: "ROLLBACK", values: [] }).catch(() => {});
    throw error;
  }
}

const numberedTexts = new Map<string, string>();

/** The same statement with `$1`, `$2`, … for each `?`. */
function numbered(sql: string): string {
  let text = numberedTexts.get(sql);
  if (text === undefined) {
    let count = 0;
    text = sql.replaceAll("?", () => `$${++count}`);
    numberedTexts.set(sql, text);
  }
  return text;
}

/** A row with byte strings as plain arrays of their own, instead of Node's buffers. */
function plain(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? new Uint8Array(value) : value,
    ]),
  );
}

/** The SQLSTATE of an error that the server sent. */
function stateOf(error: unknown): string | undefined {
  return error instanceof SQL.PostgresError ? error.errno : undefined;
}

/** An error of the server or the connection as one of the catalog; a fault of the program as it is. */
function asCatalogError(error: unknown): unknown {
  const state = stateOf(error);
  const isOurs = state === undefined || /^(?:2[123]|42(?!501))/u.test(state);
  const isSql = error instanceof SQL.PostgresError || (error as Error).name === "TimeoutError";
  if (!isSql || (isOurs && state !== undefined)) return error;
  const { message } = error as Error;
  if (state?.startsWith("XX00") === true && state !== "XX000") {
    return new CatalogError("damaged", `the catalog is damaged: ${message}`, { cause: error });
  }
  return new CatalogError("unavailable", `the catalog cannot be used: ${message}`, {
    cause: error,
  });
}
