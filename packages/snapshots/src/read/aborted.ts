import { StorageError } from "@idk/storage";

/** Ends what makes no requests, and so would not notice that the signal has fired. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new StorageError("aborted", "the operation was aborted", { cause: signal.reason });
}
