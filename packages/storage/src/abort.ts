import { StorageError } from "./errors.ts";

/** Throws `aborted` if the signal has fired, with the caller's reason as cause. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw aborted(signal);
}

/** The error for a signal that has fired. */
export function aborted(signal: AbortSignal): StorageError {
  return new StorageError("aborted", "the operation was aborted", { cause: signal.reason });
}

/**
 * Settles with the promise, or rejects with `aborted` as soon as the signal fires. The promise's own
 * work continues, but is no longer awaited.
 */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(aborted(signal));
    const settled = (): void => signal.removeEventListener("abort", stop);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    promise.finally(settled).then(resolve, reject);
  });
}

/** Waits, or rejects with `aborted` as soon as the signal fires. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const elapsed = new Promise<void>((resolve) => {
    if (!signal?.aborted) timer = setTimeout(resolve, ms);
  });
  return untilAborted(elapsed, signal).finally(() => clearTimeout(timer));
}

/**
 * A signal that fires with the caller's signal, or when `stop` is called.
 *
 * Not `AbortSignal.any`: one signal may outlive thousands of calls, and on Node each call would leave
 * something behind in it. So either `stop` or `end` must always be called.
 */
export function linkedAbort(signal: AbortSignal | undefined): {
  readonly signal: AbortSignal;
  readonly stop: (reason?: unknown) => void;
  /** Detaches from the caller's signal, when the work is complete. */
  readonly end: () => void;
} {
  const own = new AbortController();
  const fire = (): void => own.abort(signal?.reason);
  const end = (): void => signal?.removeEventListener("abort", fire);
  if (signal?.aborted) fire();
  else signal?.addEventListener("abort", fire, { once: true });
  return {
    signal: own.signal,
    stop: (reason) => {
      end();
      own.abort(reason);
    },
    end,
  };
}
