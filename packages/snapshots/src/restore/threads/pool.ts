import type { FileJob, FileOutcome, ThreadFault } from "./file-worker.ts";
import { type ThreadPool, threadPool } from "../../threads/pool.ts";
import { StorageError } from "@idk/storage";

/** Threads that open packs and write files from them. */
export interface FileThreads extends Pick<ThreadPool, "areReady" | "start" | "close"> {
  /** @throws StorageError `unavailable` if a thread died */
  write(job: FileJob): Promise<FileOutcome>;
}

/** @throws StorageError `usage` */
export function fileThreads(requested: number | undefined): FileThreads {
  const pool = threadPool(requested, workerFile());
  return { ...pool, write: (job) => pool.run("write", job, [job.buffer.buffer]) };
}

/** The error that a thread had. */
export function errorOfThread({ message, storage, code, syscall }: ThreadFault): Error {
  if (storage !== undefined) return new StorageError(storage, message);
  const more = { ...(code !== undefined && { code }), ...(syscall !== undefined && { syscall }) };
  return Object.assign(new Error(message), more);
}

/** What each thread runs: the module next to this one. */
function workerFile(): string {
  return new URL("file-worker.ts", import.meta.url).href;
}
