import type { CompressJob, CompressOutcome, SealJob, SealOutcome } from "./pack-worker.ts";
import { type NaCl, type NaClChoice, StorageError } from "@idk/storage";
import {
  type Codec,
  type Compress,
  compressBatch,
  forgetScratch,
  sealVerified,
  zstdCompress,
} from "./jobs.ts";
import type { Piscina } from "piscina";
import { availableParallelism } from "node:os";
import { loadLz4BlockEncoder } from "@idk/storage/blobs";

/** Compresses and seals, in threads once they run. A job gives its buffers away and returns them. */
export interface Threads {
  /** How many jobs keep all threads busy. */
  readonly jobs: number;
  compress(job: CompressJob): Promise<CompressOutcome>;
  /** @throws StorageError `unavailable` if the blob does not open to the plaintext */
  seal(job: Omit<SealJob, "nacl">): Promise<SealOutcome & { readonly address: string }>;
  close(): Promise<void>;
}

const THREADS_MAX = 64;
/** Each takes some 25 MiB, and with four, no network is faster. */
const THREADS_DEFAULT_MAX = 4;

/**
 * @param nacl what each thread loads
 * @param requested 0 to 64; by default one for each core, at most 4, and none on a single core
 * @throws StorageError `usage`
 */
export function packThreads(naCl: NaCl, nacl: NaClChoice, requested: number | undefined): Threads {
  const count = countOf(requested);
  let pool: Piscina | undefined;
  let isRunning = false;
  let starting: Promise<void> | undefined;
  const start = async (): Promise<void> => {
    try {
      // Loaded here, so that a small backup does not pay for it.
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
      const warm = () => pool!.run({ nacl }, { name: "warmUp" });
      await Promise.all(Array.from({ length: count }, warm));
      isRunning = true;
      forgetScratch();
    } catch {
      // This thread then does the work itself.
      await pool?.destroy().catch(() => {});
      pool = undefined;
    }
  };
  let jobsGiven = 0;
  /** Runs a job in a thread, if they run; the first is too early to start them for it. */
  const inThread = async <Outcome>(
    name: string,
    job: unknown,
    buffers: readonly ArrayBuffer[],
  ): Promise<Outcome | undefined> => {
    jobsGiven += 1;
    if (count === 0 || jobsGiven === 1) return undefined;
    starting ??= start();
    // If the backend responds without waiting, nothing else lets the threads report.
    if (!isRunning) await new Promise<void>((resolve) => setTimeout(resolve));
    if (!isRunning) return undefined;
    try {
      // Piscina's types follow the other of two declarations of postMessage.
      return (await pool!.run(job, { name, transferList: buffers as never })) as Outcome;
    } catch (cause) {
      throw new StorageError(
        "unavailable",
        "a worker thread failed; back up again, or with fewer workers, or with workers: 0",
        { cause },
      );
    }
  };
  const encoders: Partial<Record<Codec, Compress>> = { zstd: zstdCompress };

  return {
    jobs: Math.max(1, 2 * count),
    async compress(job) {
      const { buffer, lengths, codec } = job;
      const outcome = await inThread<CompressOutcome>("compress", job, [buffer.buffer]);
      if (outcome !== undefined) return outcome;
      const encode = (encoders[codec] ??= await loadLz4BlockEncoder());
      return { buffer, ...compressBatch(buffer, lengths, codec, encode) };
    },
    async seal(job) {
      const { blob } = job;
      const outcome = await inThread<SealOutcome>("seal", { ...job, nacl }, [blob.buffer]);
      if (outcome === undefined) return { blob, address: sealVerified(naCl, job) };
      const { address } = outcome;
      if (typeof address === "string") return { ...outcome, address };
      throw new StorageError("unavailable", address.message);
    },
    async close() {
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

/** What each thread runs: the module next to this one. */
function workerFile(): string {
  return new URL("pack-worker.ts", import.meta.url).href;
}
