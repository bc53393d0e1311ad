import { throwIfAborted, untilAborted } from "../abort.ts";

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
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const result = queue(async () => {
    throwIfAborted(signal);
    begin();
    return call();
  });
  // It rejects if nobody waits for it any more, too.
  result.catch(() => {});
  await untilAborted(Promise.race([begun, result]), signal);
  return result;
}
