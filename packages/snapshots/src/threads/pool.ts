import type { Piscina } from "piscina";
import { StorageError } from "@idk/storage";
import { availableParallelism } from "node:os";

/** Threads that run the functions of one module. */
export interface ThreadPool {
  readonly count: number;
  /**
   * Whether jobs can be given: false until the threads run, and if they cannot, so that the caller does the
   * work itself meanwhile. Starts them.
   */
  areReady(): boolean;
  /** Starts them and waits until they run, or turned out not to. */
  start(): Promise<void>;
  /**
   * Runs an exported function of the module.
   *
   * @param given buffers of the job, which are given away
   * @throws StorageError `unavailable` if the thread died
   */
  run<Outcome>(name: string, job: unknown, given: readonly ArrayBuffer[]): Promise<Outcome>;
  /** Ends them. Jobs in progress fail. */
  close(): Promise<void>;
}

const THREADS_MAX = 64;
/** Each takes some 25 MiB, and with four, no network or file system is faster. */
const THREADS_DEFAULT_MAX = 4;

/**
 * @param requested 0 to 64; by default one for each core, at most 4, and none on a single core
 * @param module what each thread runs; it has a function `warmUp`
 * @param warmUp is given to that, which loads what a thread needs before its first job
 * @throws StorageError `usage`
 */
export function threadPool(
  requested: number | undefined,
  module: string,
  warmUp?: unknown,
): ThreadPool {
  const count = countOf(requested);
  let pool: Piscina | undefined;
  let isRunning = false;
  let isClosed = false;
  let starting: Promise<void> | undefined;

  const startAll = async (): Promise<void> => {
    try {
      // Loaded here, so that a small backup or restore does not pay for it.
      const { Piscina } = await import("piscina");
      if (isClosed) return;
      pool = new Piscina({
        filename: module,
        minThreads: count,
        maxThreads: count,
        // The next job is already queued while the last outcome is on its way back.
        concurrentTasksPerWorker: 2,
        recordTiming: false,
      });
      // A thread's fatal error is emitted here as well as rejecting its jobs.
      pool.on("error", () => {});
      const warm = () => pool!.run(warmUp, { name: "warmUp" });
      await Promise.all(Array.from({ length: count }, warm));
      isRunning = !isClosed;
    } catch {
      // The caller then does the work itself.
      await pool?.destroy().catch(() => {});
      pool = undefined;
    }
  };
  const start = async (): Promise<void> => {
    if (count > 0) starting ??= startAll();
    await starting;
  };

  return {
    count,
    areReady() {
      void start();
      return isRunning;
    },
    start,
    async run<Outcome>(name: string, job: unknown, given: readonly ArrayBuffer[]) {
      try {
        // Piscina's types follow the other of two declarations of postMessage.
        return (await pool!.run(job, { name, transferList: given as never })) as Outcome;
      } catch (cause) {
        const message = "a worker thread failed; try again, with fewer workers or with none";
        throw new StorageError("unavailable", message, { cause });
      }
    },
    async close() {
      isClosed = true;
      isRunning = false;
      // Before awaiting the start, which waits for a thread that may never report.
      await pool?.destroy().catch(() => {});
      await starting;
    },
  };
}

function countOf(requested: number | undefined): number {
  if (requested === undefined) {
    const cores = availableParallelism();
    return cores < 2 ? 0 : Math.min(cores, THREADS_DEFAULT_MAX);
  }
  if (Number.isInteger(requested) && requested >= 0 && requested <= THREADS_MAX) return requested;
  throw new StorageError("usage", `workers must be an integer from 0 to ${THREADS_MAX}`);
}
