import { type Backend, StorageError } from "@idk/storage";
import { createHash } from "node:crypto";
import type { Faults } from "../queue/faults.ts";
import { deleteFile, readWhole, type SpooledBlob } from "./files.ts";
import type { RecentBlobs } from "./recent.ts";

/** Uploads blobs of the spool, and deletes them there. Goes on trying until it is stopped. */
export interface Uploader {
  /**
   * Queues the blobs of one segment, or of another run, which are uploaded in order.
   *
   * @param uploaded called after each
   */
  add(blobs: readonly SpooledBlob[], uploaded: (blob: SpooledBlob) => void): void;
  /** Resolves when everything that was added is uploaded, or after a time; then with false. */
  idle(timeoutMs: number): Promise<boolean>;
  /** Gives up uploads in flight. */
  stop(): void;
  /** Blobs uploaded. */
  uploaded(): number;
}

interface Batch {
  readonly blobs: readonly SpooledBlob[];
  readonly uploaded: (blob: SpooledBlob) => void;
  /** How many of them are uploaded. */
  done: number;
}

/** Segments that are uploaded at the same time. */
const CONCURRENCY = 4;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;

/**
 * @param uploadMs milliseconds after which an upload is given up and repeated
 * @param recent copies of blobs in the spool
 */
export function createUploader(
  backend: Backend,
  folder: string,
  uploadMs: number,
  faults: Faults,
  recent: RecentBlobs,
): Uploader {
  const waiting: Batch[] = [];
  const stopping = new AbortController();
  let active = 0;
  let failures = 0;
  let uploaded = 0;
  let delay: ReturnType<typeof setTimeout> | undefined;
  const idleWaiters = new Set<() => void>();

  const send = async ({ address }: SpooledBlob, bytes: Uint8Array): Promise<void> => {
    await within(uploadMs, stopping.signal, (signal) =>
      backend.put(address, bytes, { signal, sha256: address }),
    );
    uploaded += 1;
  };
  const uploadRecent = async (blob: SpooledBlob, bytes: Uint8Array<ArrayBuffer>): Promise<void> => {
    try {
      await send(blob, bytes);
    } catch (error) {
      recent.drop(bytes);
      throw error;
    }
    recent.giveBack(bytes);
  };
  const uploadFile = async (blob: SpooledBlob): Promise<void> => {
    const bytes = await readWhole(folder, blob.file);
    // Another process that shares the spool has uploaded it.
    if (bytes === undefined) return;
    if (createHash("sha256").update(bytes).digest("hex") === blob.address) await send(blob, bytes);
    else faults.report(`a segment in the spool is damaged, and was deleted: ${blob.file}`);
  };
  const upload = async (blob: SpooledBlob): Promise<void> => {
    const bytes = recent.take(blob.file);
    await (bytes === undefined ? uploadFile(blob) : uploadRecent(blob, bytes));
    await deleteFile(folder, blob.file);
  };

  const run = async (batch: Batch): Promise<void> => {
    try {
      for (const blob of batch.blobs.slice(batch.done)) {
        await upload(blob);
        batch.done += 1;
        batch.uploaded(blob);
        failures = 0;
      }
    } catch (cause) {
      // Behind the others, so that a blob that the store rejects does not hold them up.
      waiting.push(batch);
      // A store that is down makes many uploads wait: in the spool, not in memory.
      recent.clear();
      if (stopping.signal.aborted) return;
      failures += 1;
      faults.report("an upload failed, and will be repeated", cause);
    }
  };

  const runOnce = async (batch: Batch, failed: number): Promise<void> => {
    await run(batch);
    active -= 1;
    if (failures > failed) pause();
    else start();
    if (active === 0 && waiting.length === 0) resolveIdle();
  };

  const start = (): void => {
    if (stopping.signal.aborted || delay !== undefined) return;
    // After a failure one upload finds out whether the store is back.
    const most = failures > 0 ? 1 : CONCURRENCY;
    while (active < most && waiting.length > 0) {
      const failed = failures;
      active += 1;
      void runOnce(waiting.shift()!, failed);
    }
  };

  const pause = (): void => {
    if (delay !== undefined || stopping.signal.aborted) return;
    const bound = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1));
    delay = setTimeout(resume, bound * (0.5 + Math.random() / 2));
    delay.unref();
  };
  const resume = (): void => {
    clearTimeout(delay);
    delay = undefined;
    start();
  };
  const resolveIdle = (): void => {
    for (const resolve of idleWaiters) resolve();
    idleWaiters.clear();
  };

  return {
    add(blobs, called) {
      waiting.push({ blobs, uploaded: called, done: 0 });
      start();
    },
    async idle(timeoutMs) {
      if (active === 0 && waiting.length === 0) return true;
      resume();
      let timer: ReturnType<typeof setTimeout> | undefined;
      let whenIdle = (): void => {};
      const idle = new Promise<boolean>((resolve) => {
        whenIdle = () => resolve(true);
        timer = setTimeout(() => resolve(false), timeoutMs);
      });
      idleWaiters.add(whenIdle);
      try {
        return await idle;
      } finally {
        clearTimeout(timer);
        idleWaiters.delete(whenIdle);
      }
    },
    stop() {
      clearTimeout(delay);
      stopping.abort();
    },
    uploaded: () => uploaded,
  };
}

/** Runs a call that may ignore its signal. Its work may then go on, which a put allows for. */
async function within(
  ms: number,
  stopping: AbortSignal,
  call: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const timeout = new AbortController();
  const called = call(timeout.signal);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stop = (): void => {};
  const ended = new Promise<never>((_, reject) => {
    const end = (message: string): void => {
      const error = new StorageError("unavailable", message, { transient: true });
      timeout.abort(error);
      reject(error);
    };
    stop = () => end("the recorder was closed");
    timer = setTimeout(() => end(`the upload took more than ${ms} ms`), ms);
    timer.unref();
    stopping.addEventListener("abort", stop);
  });
  try {
    await Promise.race([called, ended]);
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener("abort", stop);
    called.catch(() => {});
    ended.catch(() => {});
  }
}
