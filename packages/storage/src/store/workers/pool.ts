import type { OpenJob, OpenOutcome, SealJob, SealOutcome } from "./worker.ts";
import { StorageError, usage } from "../../errors.ts";
import type { NaClChoice } from "../../crypto/nacl/load-nacl.ts";
import type { Piscina } from "piscina";

/** Threads that seal and open leaves, started when they are first needed. */
export interface LeafWorkers {
  readonly threads: number;
  /**
   * The threads, once they run. Undefined until then, and if they cannot run: the caller does the
   * work itself and asks again for the next leaf. While the threads start this waits for one turn of
   * the event loop, which starting them requires.
   *
   * @throws StorageError `aborted` once closed: a call in progress then ends the same way whether
   *   its threads run yet or not
   */
  ready(): Promise<ReadyWorkers | undefined>;
  /** Ends the threads. Jobs in progress fail. */
  close(): Promise<void>;
}

/** A job gives its buffer away and returns it with the outcome. If it fails, the buffer is lost. */
export interface ReadyWorkers {
  /** @throws StorageError `aborted` if the store was closed, `unavailable` if a thread died */
  seal(job: Omit<SealJob, "nacl">): Promise<SealOutcome>;
  /** @throws StorageError as `seal` */
  open(job: Omit<OpenJob, "nacl">): Promise<OpenOutcome>;
}

/** Below this many bytes of leaves, starting and feeding threads costs more than it saves. */
export const WORKERS_MIN_BYTES: number = 32 * 2 ** 20;

/** How many leaves are prepared ahead: for each thread the current one and the next. */
export function aheadOf(workers: LeafWorkers | undefined): number {
  return 2 * (workers?.threads ?? 0);
}

/**
 * @param nacl the store's choice; each thread loads its own
 * @param threads 1 or more
 */
export function createLeafWorkers(nacl: NaClChoice, threads: number): LeafWorkers {
  let starting: Promise<void> | undefined;
  let pool: Piscina | undefined;
  let running: ReadyWorkers | undefined;
  let settled = false;
  let closed = false;

  const start = async (): Promise<void> => {
    try {
      // Loaded here, so that a store of small blobs does not pay for it.
      const { Piscina } = await import("#threads");
      if (closed) return;
      const started = new Piscina({
        filename: workerFile(),
        minThreads: threads,
        maxThreads: threads,
        // The next job is already queued while the last outcome is on its way back.
        concurrentTasksPerWorker: 2,
        recordTiming: false,
      });
      pool = started;
      // A thread's fatal error is emitted here as well as rejecting its jobs.
      started.on("error", () => {});
      const warmUp = () => run(started, "warmUp", nacl, []);
      await Promise.all(Array.from({ length: threads }, warmUp));
      if (!closed) running = { seal: job(started, "seal"), open: job(started, "open") };
    } catch {
      // The callers then do the work themselves.
      await end();
    } finally {
      settled = true;
    }
  };
  const end = async (): Promise<void> => pool?.destroy().catch(() => {});
  const turn = () => new Promise<void>((resolve) => setTimeout(resolve));

  /** Gives the job's buffer away. */
  const job =
    <Outcome>(pool: Piscina, name: string) =>
    (given: { readonly buffer: Uint8Array<ArrayBuffer> }): Promise<Outcome> =>
      run(pool, name, { ...given, nacl }, [given.buffer.buffer]);

  const run = async <Outcome>(
    pool: Piscina,
    name: string,
    task: unknown,
    transferred: readonly ArrayBuffer[],
  ): Promise<Outcome> => {
    try {
      // Piscina's types follow the other of two declarations of postMessage.
      return await pool.run(task, { name, transferList: transferred as never });
    } catch (cause) {
      if (closed) throw storeClosed(cause);
      throw new StorageError(
        "unavailable",
        "a worker thread failed; try again with fewer workers, or with workers: 0",
        { cause },
      );
    }
  };

  return {
    threads,
    async ready() {
      if (closed) throw storeClosed();
      starting ??= start();
      // If the backend responds without waiting, nothing else lets the threads report.
      if (!settled) await turn();
      if (closed) throw storeClosed();
      return running;
    },
    async close() {
      closed = true;
      running = undefined;
      // Before awaiting the start, which waits for a thread that may never report.
      await end();
      await starting;
    },
  };
}

function storeClosed(cause?: unknown): StorageError {
  return new StorageError("aborted", "the store was closed", { cause });
}

const THREADS_MAX = 64;
/** With this many, sealing is faster than most disks and any network. */
const THREADS_DEFAULT_MAX = 8;

/**
 * How many threads a store may use: as many as requested, or one per core.
 *
 * @returns 0 if the runtime has no threads, and by default on a single core
 * @throws StorageError `usage`
 */
export function threadsOf(requested: number | undefined): number {
  if (
    requested !== undefined &&
    (!Number.isInteger(requested) || requested < 0 || requested > THREADS_MAX)
  ) {
    throw usage(`workers must be an integer from 0 to ${THREADS_MAX}`);
  }
  const builtin = typeof process === "undefined" ? undefined : process.getBuiltinModule;
  // Asked without loading it, which takes longer than storing a small blob.
  if (builtin?.("node:module").isBuiltin("node:worker_threads") !== true) return 0;
  if (requested !== undefined) return requested;
  const cores = builtin("node:os").availableParallelism();
  return cores < 2 ? 0 : Math.min(cores, THREADS_DEFAULT_MAX);
}

/** What each thread runs: the module next to this one, both as source and compiled. */
function workerFile(): string {
  return import.meta.url.replace(/\/pool\.([jt]s)$/u, "/worker.$1");
}
