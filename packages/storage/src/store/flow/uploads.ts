import type { Backend } from "../../backend/backend.ts";
import { untilAborted } from "../../abort.ts";
import { wrapBackend } from "../../backend/wrap.ts";

/** Milliseconds that an object store has by default for a put of any length; see `Timeouts.firstByte`. */
const ANY_LENGTH_MS = 30_000;

/** Bytes per millisecond: for each of these, a put has another millisecond. */
const SLOWEST = (64 * 2 ** 10) / 1000;

/** A put in flight, and what has been delivered since it began, by puts that began at `earliest` or later. */
interface Upload {
  readonly since: number;
  earliest: number;
  delivered: number;
}

/**
 * The backend with its puts bounded by their bytes: one waits while the line may be unable to carry what is
 * in flight before the put would time out. How many puts are in flight follows from those that complete, but
 * if too many share a slow line, none does.
 *
 * A put has a time that does not depend on its length. What the others take of the line has to fit into it, at
 * the slowest rate at which one put completes, or at the highest rate at which the line has been seen to
 * deliver. That is measured whenever a put completes: the bytes of all that completed since it began, by the
 * time since the first of these began. So the line has carried at least as much, whatever the lengths are.
 * Small items never wait, and long ones wait only for the first ones to complete, unless the line is slow.
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
  const uploads = new Set<Upload>();
  /** Bytes per millisecond, the highest since the last retry. */
  let rate = 0;

  const mayEnter = (): boolean => inFlight <= ANY_LENGTH_MS * Math.max(SLOWEST, rate);
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

  /** What the line carried before says nothing about what it carries now. */
  const forget = (): void => {
    rate = 0;
    const at = now();
    for (const each of uploads) [each.delivered, each.earliest] = [0, at];
  };

  return wrapBackend(backend, {
    put: (put) => async (name, blob, given) => {
      const { length } = blob;
      if (waiting.size === 0 && mayEnter()) inFlight += length;
      else await enter(length, given?.signal);
      const since = now();
      const upload: Upload = { since, earliest: since, delivered: 0 };
      uploads.add(upload);
      const onRetry = (): void => {
        forget();
        given?.onRetry?.();
      };
      try {
        await put(name, blob, { ...given, onRetry });
        for (const each of uploads) {
          each.delivered += length;
          each.earliest = Math.min(each.earliest, since);
        }
        rate = Math.max(rate, upload.delivered / Math.max(now() - upload.earliest, 1));
      } finally {
        uploads.delete(upload);
        leave(length);
      }
    },
  });
}
