import { throwIfAborted, untilAborted } from "./abort.ts";

/** Runs some of the calls at the same time, and the others once those have ended. */
export type Queue = <T>(call: () => Promise<T>) => Promise<T>;

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
  let pending: typeof call | undefined = call;
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const result = queue(async () => {
    throwIfAborted(signal);
    begin();
    return pending!();
  });
  try {
    await untilAborted(begun, signal);
  } catch (error) {
    // The queue keeps its entry, which must not keep the caller's buffers alive.
    pending = undefined;
    result.catch(() => {});
    throw error;
  }
  return result;
}
