import { StorageError } from "@idk/storage";
import type { MarkerBackend } from "../../repository/marker-backend.ts";

/** How far a host's clock may be off. */
const CLOCK_OFF_MAX = 60 * 60 * 1000;
const DAY = 24 * 60 * 60 * 1000;
/**
 * How long a time is used for packs, if asking takes a request: a pack that is taken for older than it
 * is does no harm.
 */
const FRESH_MS = 10_000;

/** The times that a grace period sets, in milliseconds. */
export interface GraceTimes {
  /** How long what was stored can be built on: half the grace period. */
  readonly half: number;
  /** After which a session ends with a part, and goes on. */
  readonly part: number;
  /** What is left to a part that holds packs of an interrupted session. */
  readonly margin: number;
}

export function graceTimes(graceSeconds: number): GraceTimes {
  const grace = graceSeconds * 1000;
  return { half: grace / 2, part: Math.min(DAY, grace / 8), margin: grace / 16 };
}

/** The store's time, which all rules go by. */
export interface SessionClock {
  /** Now. It may take a request. */
  now(): Promise<number>;
  /** Not after now, and at most some seconds before. */
  recent(): Promise<number>;
}

/** @param signal ends the requests */
export function sessionClock(backend: MarkerBackend, signal: AbortSignal): SessionClock {
  const fresh = backend.local === true ? 0 : FRESH_MS;
  let known: { readonly time: number; readonly at: number } | undefined;
  const now = async (): Promise<number> => {
    const at = performance.now();
    known = { time: await backend.currentTime({ signal }), at };
    return known.time;
  };
  return {
    now,
    async recent() {
      if (known !== undefined && performance.now() - known.at < fresh) return known.time;
      return now();
    },
  };
}

/**
 * Checks this host's clock.
 *
 * @throws StorageError `usage` if it is more than an hour off
 */
export function checkClock(own: number, store: number): void {
  const off = Math.abs(own - store);
  if (off <= CLOCK_OFF_MAX) return;
  const hours = Math.round(off / (CLOCK_OFF_MAX / 10)) / 10;
  throw new StorageError(
    "usage",
    `the clock of this host is ${hours} hours ${own > store ? "ahead of" : "behind"} the store's: ` +
      "set it, and back up again",
  );
}

/** The error of a session that would commit too late. */
export function tooLate(): StorageError {
  return new StorageError(
    "unavailable",
    "the backup took longer than half the grace period of the repository, so data that it refers " +
      "to may have been pruned; back up again: stored data is reused as far as that is safe",
  );
}
