import type { FileJob, FileOutcome, ThreadFault } from "./file-worker.ts";
import { StorageError } from "@idk/storage";
import type { Piscina } from "piscina";
import { availableParallelism } from "node:os";

/** Threads that open packs and write files from them. */
export interface FileThreads {
  /**
   * Whether jobs can be given: false until the threads run, and if they cannot, so that the caller does the
   * work itself meanwhile. Starts them.
   */
  areReady(): boolean;
  /** @throws StorageError `unavailable` if a thread died */
  write(job: FileJob): Promise<FileOutcome>;
  close(): Promise<void>;
}

const THREADS_MAX = 64;
/** File systems are not faster with more. */
const THREADS_DEFAULT_MAX = 4;

/** @throws StorageError `usage` */
export function fileThreads(requested: number | undefined): FileThreads {
  const count = countOf(requested);
  let pool: Piscina | undefined;
  let isRunning = false;
  let starting: Promise<void> | undefined;

  const start = async (): Promise<void> => {
    try {
      // Loaded here, so that a small restore does not pay for it.
      const { Piscina } = await import("piscina");
      pool = new Piscina({
        filename: workerFile(),
        minThreads: count,
        maxThreads: count,
        // The next job is already queued while the last outcome is on its way back.
        concurrentTasksPerWorker: 2,
        recordTiming: false,
      });
      // A thread's fatal error is emitted here as well as rejecting its jobs.
      pool.on("error", () => {});
      const warm = () => pool!.run(undefined, { name: "warmUp" });
      await Promise.all(Array.from({ length: count }, warm));
      isRunning = true;
    } catch {
      // The caller then does the work itself.
      await pool?.destroy().catch(() => {});
      pool = undefined;
    }
  };

  return {
    areReady() {
      if (count > 0) starting ??= start();
      return isRunning;
    },
    async write(job) {
      try {
        const transferList = [job.buffer.buffer];
        // Piscina's types follow the other of two declarations of postMessage.
        const options = { name: "write", transferList: transferList as never };
        return (await pool!.run(job, options)) as FileOutcome;
      } catch (cause) {
        throw new StorageError(
          "unavailable",
          "a worker thread failed; restore again, with fewer workers or with none",
          { cause },
        );
      }
    },
    async close() {
      await starting;
      isRunning = false;
      await pool?.destroy().catch(() => {});
    },
  };
}

/** The error that a thread had. */
export function errorOfThread({ message, storage, code }: ThreadFault): Error {
  if (storage !== undefined) return new StorageError(storage, message);
  return code === undefined ? new Error(message) : Object.assign(new Error(message), { code });
}

function countOf(requested: number | undefined): number {
  if (requested === undefined) {
    const cores = availableParallelism();
    return cores < 2 ? 0 : Math.min(cores, THREADS_DEFAULT_MAX);
  }
  if (Number.isInteger(requested) && requested >= 0 && requested <= THREADS_MAX) return requested;
  throw new StorageError("usage", `workers must be an integer from 0 to ${THREADS_MAX}`);
}

/** What each thread runs: the module next to this one. */
function workerFile(): string {
  return new URL("file-worker.ts", import.meta.url).href;
}
