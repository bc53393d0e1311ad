import type { OpenJob, OpenOutcome, SealJob, SealOutcome } from "./worker.ts";
import type { NaClChoice } from "../../crypto/load-nacl.ts";
import type { Piscina } from "piscina";
import { StorageError, usage } from "../../errors.ts";

/** Threads that seal and open leaves, started when they are first wished for. */
export interface LeafWorkers {
  readonly threads: number;
  /**
   * The threads once they run. Until then, and where they cannot run, undefined: the caller does
   * the work itself and asks again for the next leaf, so that nobody waits for more than a turn of
   * the event loop, which starting takes as well.
   */
  ready(): Promise<ReadyWorkers | undefined>;
  /** Ends the threads. Jobs under way fail. */
  close(): Promise<void>;
}

/** A job gives its buffer away, and has it back with the outcome. With an error it is gone. */
export interface ReadyWorkers {
  /** @throws StorageError `aborted` where the store was closed, `unavailable` where a thread died */
  seal(job: Omit<SealJob, "nacl">): Promise<SealOutcome>;
  /** @throws StorageError as `seal` */
  open(job: Omit<OpenJob, "nacl">): Promise<OpenOutcome>;
}

/** Below this many bytes of leaves, starting and feeding threads costs more than they save. */
export const WORTH_WORKERS: number = 32 * 2 ** 20;

/** How many leaves are prepared ahead: for each thread the one it works on, and the next. */
export function aheadOf(workers: LeafWorkers | undefined): number {
  return 2 * (workers?.threads ?? 0);
}

/**
 * @param nacl as the store was opened; each thread loads its own
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
      // Loaded here: a store of small blobs does not pay for it.
      const { Piscina } = await import("#threads");
      if (closed) return;
      const started = new Piscina({
        filename: workerFile(),
        minThreads: threads,
        maxThreads: threads,
        // The next job is there when one is done, while its outcome is still on its way.
        concurrentTasksPerWorker: 2,
        recordTiming: false,
      });
      pool = started;
      // What a thread dies of is reported here as well, besides to who waits for its outcome.
      started.on("error", () => {});
      const warmUp = () => run(started, "warmUp", nacl, []);
      await Promise.all(Array.from({ length: threads }, warmUp));
      if (!closed) running = { seal: job(started, "seal"), open: job(started, "open") };
    } catch {
      // Then the callers do the work themselves.
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
      // Its types follow one of two declarations of postMessage, and take the other for an error.
      return await pool.run(task, { name, transferList: transferred as never });
    } catch (cause) {
      if (closed) throw new StorageError("aborted", "the store was closed meanwhile", { cause });
      throw new StorageError(
        "unavailable",
        "a thread of the store failed at its work: try again, with fewer workers or none",
        { cause },
      );
    }
  };

  return {
    threads,
    async ready() {
      if (closed) return undefined;
      starting ??= start();
      // Where a backend answers at once, nothing else would let the threads report.
      if (!settled) await turn();
      return running;
    },
    async close() {
      closed = true;
      running = undefined;
      // First, because a thread that never reports would keep its start waiting.
      await end();
      await starting;
    },
  };
}

const THREADS_MAX = 64;

/** Sealing is then faster than most disks and any wire. */
const THREADS_DEFAULT_MAX = 8;

/**
 * How many threads a store may use: as many as it is told, or one for each core.
 *
 * @returns 0 where the runtime has no threads, and by default where there is one core
 * @throws StorageError `usage`
 */
export function threadsOf(wanted: number | undefined): number {
  if (wanted !== undefined && (!Number.isInteger(wanted) || wanted < 0 || wanted > THREADS_MAX)) {
    throw usage(`workers must be an integer from 0 to ${THREADS_MAX}`);
  }
  const builtin = typeof process === "undefined" ? undefined : process.getBuiltinModule;
  if (builtin?.("node:worker_threads") === undefined) return 0;
  if (wanted !== undefined) return wanted;
  const cores = builtin("node:os").availableParallelism();
  return cores < 2 ? 0 : Math.min(cores, THREADS_DEFAULT_MAX);
}

/** What each thread runs: beside this file, in the sources as well as compiled. */
export function workerFile(): string {
  return import.meta.url.replace("/pool.", "/worker.");
}
