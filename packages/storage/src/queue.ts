import type { LimitFunction } from "p-limit";
import { aborted, throwIfAborted } from "./abort.ts";

/** Runs some of the calls at the same time, and the others once those have ended. */
export type Queue = LimitFunction;

/**
 * Runs a call in its turn.
 *
 * @param signal ends the wait at once. The call itself has to be ended by the caller
 * @throws StorageError `aborted`, and what the call throws
 */
export async function inTurn<T>(
  queue: Queue,
  call: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  throwIfAborted(signal);
  // It begins at once: there is no wait to be ended, which would cost more than the queue.
  if (signal === undefined || queue.activeCount < queue.concurrency) return queue(call);
  // The queue keeps its entry after an abort, which must not keep the caller's buffers alive: nothing that it
  // refers to may refer to the call itself.
  let pending: typeof call | undefined = call;
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      pending = undefined;
      reject(aborted(signal));
    };
    signal.addEventListener("abort", leave, { once: true });
    const begin = async (): Promise<T> => {
      signal.removeEventListener("abort", leave);
      throwIfAborted(signal);
      return pending!();
    };
    queue(begin).then(resolve, reject);
  });
}
