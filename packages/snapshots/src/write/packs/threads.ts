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
import { loadLz4BlockEncoder } from "@idk/storage/blobs";
import { threadPool } from "../../threads/pool.ts";

/** Compresses and seals, in threads once they run. A job gives its buffers away and returns them. */
export interface Threads {
  /** How many jobs keep all threads busy. */
  readonly jobs: number;
  compress(job: CompressJob): Promise<CompressOutcome>;
  /** @throws StorageError `unavailable` if the blob does not open to the plaintext */
  seal(job: Omit<SealJob, "nacl">): Promise<SealOutcome & { readonly address: string }>;
  close(): Promise<void>;
}

/**
 * @param nacl what each thread loads
 * @param freeMemory of this thread, which does the work until the others run
 * @param requested 0 to 64; by default one for each core, at most 4, and none on a single core
 * @throws StorageError `usage`
 */
export function packThreads(
  naCl: NaCl,
  nacl: NaClChoice,
  requested: number | undefined,
  freeMemory: () => void,
): Threads {
  const pool = threadPool(requested, workerFile(), { nacl });
  let jobsGiven = 0;
  /** Runs a job in a thread, if they run; the first is too early to start them for it. */
  const inThread = async <Outcome>(
    name: string,
    job: unknown,
    buffers: readonly ArrayBuffer[],
  ): Promise<Outcome | undefined> => {
    jobsGiven += 1;
    if (pool.count === 0 || jobsGiven === 1) return undefined;
    // If the backend responds without waiting, nothing else lets the threads report.
    if (!pool.areReady()) await new Promise<void>((resolve) => setTimeout(resolve));
    if (!pool.areReady()) return undefined;
    forgetScratch();
    return pool.run(name, job, buffers);
  };
  const encoders: Partial<Record<Codec, Compress>> = { zstd: zstdCompress };

  return {
    jobs: Math.max(1, 2 * pool.count),
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
      if (outcome === undefined) return { blob, address: sealVerified(naCl, job, freeMemory) };
      const { address } = outcome;
      if (typeof address === "string") return { ...outcome, address };
      throw new StorageError("unavailable", address.message);
    },
    close: () => pool.close(),
  };
}

/** What each thread runs: the module next to this one. */
function workerFile(): string {
  return new URL("pack-worker.ts", import.meta.url).href;
}
