import { Database as Connection } from "bun:sqlite";
import { CatalogError } from "../catalog.ts";
import type { RunChange } from "../changes.ts";
import type { Database } from "./database.ts";
import type { NumberedRow, Row, Statement } from "./port.ts";
import { attempt } from "./sqlite-errors.ts";
import type { Group } from "./sqlite-worker.ts";
import { dialect, drive, type Job, type Outcome, prepared, type Writer } from "./sqlite-writer.ts";

/** So many transactions share one commit, and so one wait for the disk. */
const GROUP = 64;
/**
 * So many rows they have together, unless one alone has more. A group that takes too long is not finished,
 * and what is left of it is cloned for the thread once more.
 */
const GROUP_ROWS = 1000;

/**
 * Opens a catalog in a file, or makes it. Reads run at once, in the caller's thread; writes wait for the
 * disk, and run in another one.
 *
 * @throws CatalogError
 */
export async function openSqlite(
  path: string,
  openWriter: (path: string) => Promise<Writer> = openWriterThread,
): Promise<Database> {
  const writer = await openWriter(path);
  let reader: Connection;
  try {
    reader = await attempt(() => connect(path));
  } catch (error) {
    await writer.close();
    throw error;
  }
  const readNow = prepared(reader);
  const read = (statement: Statement): Row[] => {
    if (isClosed) throw closed();
    return readNow(statement);
  };
  const queue: { job: Job; settle(outcome: Outcome): void }[] = [];
  let inGroup = 0;
  let running: Promise<void> | undefined;
  let isClosed = false;

  const enqueue = (job: Job): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (isClosed) {
        reject(closed());
        return;
      }
      queue.push({
        job,
        settle: (outcome) => {
          if ("value" in outcome) resolve(outcome.value);
          else reject(errorOf(outcome));
        },
      });
      running ??= drain();
    });

  const drain = async (): Promise<void> => {
    // What is asked for in the same moment becomes one group.
    await Promise.resolve();
    while (queue.length > 0) {
      const group = queue.splice(0, groupLength(queue));
      inGroup = group.length;
      const outcomes = await writer.run(group.map(({ job }) => job));
      inGroup = 0;
      for (const [index, outcome] of outcomes.entries()) group[index]!.settle(outcome);
      queue.unshift(...group.slice(outcomes.length));
    }
    running = undefined;
  };

  const nextSeq = async (row?: NumberedRow): Promise<number> => {
    for (;;) {
      const seq = (await enqueue({ type: "take", row })) as number | undefined;
      if (seq !== undefined) return seq;
      await enqueue({ type: "reserve" });
    }
  };

  return {
    dialect,
    nextSeq,
    write: ((name, ...given) => enqueue({ type: "change", name, given })) as RunChange,
    query: async (plan) => attempt(() => drive(plan(), read)),
    read: async (plan) =>
      attempt(() => {
        // One statement sees one moment. Only if there are more, all run in a transaction.
        const alone = plan();
        const first = alone.next();
        if (first.done === true) return first.value;
        if (first.value.length === 1) {
          const next = alone.next(first.value.map(read));
          if (next.done === true) return next.value;
        }
        reader.run("BEGIN");
        try {
          return drive(plan(), read);
        } finally {
          reader.run("COMMIT");
        }
      }),
    queued: () => queue.length + inGroup,
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await running;
      // The writer last, because the last one to be closed moves the log into the file.
      reader.close();
      await writer.close();
    },
  };
}

/** How many of the first jobs make a group: at least one. */
function groupLength(queue: readonly { readonly job: Job }[]): number {
  let rows = 0;
  let length = 0;
  for (const { job } of queue) {
    rows += rowsOf(job);
    if (length === GROUP || (length > 0 && rows > GROUP_ROWS)) break;
    length += 1;
  }
  return length;
}

/** About how many rows a job changes: what it is given in lists, such as the content roots of an object. */
function rowsOf(job: Job): number {
  let rows = 1;
  if (job.type !== "change") return rows;
  for (const given of job.given) {
    if (typeof given !== "object" || given === null || ArrayBuffer.isView(given)) continue;
    for (const list of Array.isArray(given) ? [given] : Object.values(given)) {
      if (Array.isArray(list)) rows += list.length;
    }
  }
  return rows;
}

function connect(path: string): Connection {
  const connection = new Connection(path);
  // In KiB: with 10 million keys, a listing of prefixes seeks in so many inner pages.
  connection.run("PRAGMA query_only = ON; PRAGMA cache_size = -65536;");
  return connection;
}

/** A writer in a thread of its own. */
async function openWriterThread(path: string): Promise<Writer> {
  const { Piscina } = await import("piscina");
  const pool = new Piscina({
    filename: new URL("sqlite-worker.ts", import.meta.url).href,
    minThreads: 1,
    maxThreads: 1,
    recordTiming: false,
  });
  // A thread's fatal error is emitted here as well as rejecting its group.
  pool.on("error", () => {});
  const run = async (jobs: readonly Job[]): Promise<readonly Outcome[]> => {
    const group: Group = { path, jobs };
    try {
      return (await pool.run(group, { name: "runGroup" })) as readonly Outcome[];
    } catch (cause) {
      const error = new Error("the catalog cannot be used: its thread ended", { cause });
      return jobs.map(() => ({ error, code: "unavailable" as const }));
    }
  };
  const [opened] = await run([{ type: "reserve" }]);
  const writer = {
    run,
    async close() {
      await pool.run(undefined, { name: "close" }).catch(() => {});
      await pool.destroy();
    },
  };
  if (opened === undefined || "value" in opened) return writer;
  await writer.close();
  throw errorOf(opened);
}

function errorOf({ error, code }: Extract<Outcome, { error: unknown }>): unknown {
  if (code === undefined) return error;
  return new CatalogError(code, error instanceof Error ? error.message : String(error), {
    cause: error,
  });
}

function closed(): CatalogError {
  return new CatalogError("usage", "the catalog is closed");
}
