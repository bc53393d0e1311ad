import type { OpenJob, OpenOutcome, SealJob, SealOutcome } from "./jobs.ts";
import type { NaClChoice } from "../../crypto/nacl.ts";

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

export interface ReadyWorkers {
  /** Gives the buffer away, and with the outcome has it back. */
  seal(job: Omit<SealJob, "nacl">): Promise<SealOutcome>;
  /** Gives the buffer away, and with the outcome has it back. */
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
  let running: ReadyWorkers | undefined;
  let end = async (): Promise<void> => {};
  let closed = false;
  let settled = false;

  const start = async (): Promise<void> => {
    // Loaded here: a store of small blobs does not pay for it.
    const loaded = await import("piscina").catch(() => undefined);
    if (loaded === undefined || closed) return;
    const pool = new loaded.Piscina({
      filename: workerFile(),
      minThreads: threads,
      maxThreads: threads,
      // The next job is there when one is done, while its outcome is still on its way.
      concurrentTasksPerWorker: 2,
      recordTiming: false,
    });
    end = () => pool.destroy();
    const run = (name: string) => (job: object & { buffer: Uint8Array<ArrayBuffer> }) =>
      // Its types follow one of two declarations of postMessage, and take the other for an error.
      pool.run({ ...job, nacl }, { name, transferList: [job.buffer.buffer] as never });
    try {
      // A thread that cannot start is reported here as well, and again for each attempt.
      pool.on("error", () => {});
      await Promise.all(Array.from({ length: threads }, () => pool.run(nacl, { name: "warmUp" })));
      if (!closed) running = { seal: run("seal"), open: run("open") };
    } catch {
      await end();
    }
  };
  const turn = () => new Promise<void>((resolve) => setTimeout(resolve));

  return {
    threads,
    async ready() {
      starting ??= closed ? Promise.resolve() : start().finally(() => (settled = true));
      // Where a backend answers at once, nothing else would let the threads report.
      if (!settled && !closed) await turn();
      return running;
    },
    async close() {
      closed = true;
      running = undefined;
      await starting;
      await end();
    },
  };
}

/** Beside this file, in the sources as well as compiled. */
function workerFile(): string {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  return new URL(`./worker.${extension}`, import.meta.url).href;
}
