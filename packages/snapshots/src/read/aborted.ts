import { StorageError } from "@idk/storage";

/** Ends what makes no requests, and so would not notice that the signal has fired. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new StorageError("aborted", "the operation was aborted", { cause: signal.reason });
}

/** Settles with a promise, or rejects with `aborted` as soon as the signal fires. */
export async function untilAborted(
  promise: Promise<unknown>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { promise: fired, resolve } = Promise.withResolvers<void>();
  const stop = (): void => resolve();
  if (signal?.aborted === true) stop();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    await Promise.race([promise, fired]);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
  throwIfAborted(signal);
}
