import type { Backend } from "../../backend/backend.ts";
import { untilAborted } from "../../abort.ts";
import { wrapBackend } from "../../backend/wrap.ts";

/** Milliseconds that an object store has by default for a put of any length; see `Timeouts.firstByte`. */
const ANY_LENGTH_MS = 30_000;

/** Bytes per millisecond: for each of these, a put has another millisecond. */
const SLOWEST = (64 * 2 ** 10) / 1000;

/**
 * The backend with its puts bounded by their bytes: one waits while the line may be unable to carry what is
 * in flight before the put would time out. How many puts are in flight follows from those that complete, but
 * if too many share a slow line, none does.
 *
 * A put has a time that does not depend on its length. What the others take of the line has to fit into it, at
 * the slowest rate at which one put completes, or at half of the rate at which bytes have been delivered while
 * a put was in flight, as BBR estimates it (Cardwell et al., 2016): half, because a part of them may have been
 * sent before. So small items never wait, and long ones wait only for the first ones to complete, unless the
 * line is slow.
 *
 * @param now milliseconds, monotonic
 */
export function boundedUploads(
  backend: Backend,
  now: () => number = () => performance.now(),
): Backend {
  const waiting = new Set<() => void>();
  /** Bytes. */
  let inFlight = 0;
  let delivered = 0;
  /** Bytes per millisecond, the highest since the last retry. */
  let rate = 0;

  const mayEnter = (): boolean => inFlight <= ANY_LENGTH_MS * Math.max(SLOWEST, rate / 2);
  const enter = async (bytes: number, signal: AbortSignal | undefined): Promise<void> => {
    let begin!: () => void;
    const entered = new Promise<void>((resolve) => {
      begin = () => {
        inFlight += bytes;
        resolve();
      };
      waiting.add(begin);
    });
    try {
      await untilAborted(entered, signal);
    } catch (error) {
      // It may have been let in at the same moment.
      if (!waiting.delete(begin)) leave(bytes);
      throw error;
    }
  };
  const leave = (bytes: number): void => {
    inFlight -= bytes;
    for (const begin of waiting) {
      if (!mayEnter()) return;
      waiting.delete(begin);
      begin();
    }
  };

  return wrapBackend(backend, {
    put: (put) => async (name, blob, given) => {
      const { length } = blob;
      if (waiting.size === 0 && mayEnter()) inFlight += length;
      else await enter(length, given?.signal);
      const [since, before] = [now(), delivered];
      const onRetry = (): void => {
        rate = 0;
        given?.onRetry?.();
      };
      try {
        await put(name, blob, { ...given, onRetry });
        delivered += length;
        rate = Math.max(rate, (delivered - before) / Math.max(now() - since, 1));
      } finally {
        leave(length);
      }
    },
  });
}
