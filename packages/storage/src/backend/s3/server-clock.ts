/** Compares this machine's clock with the one that the store's answers tell of. */
export interface ServerClock {
  /** Takes note of the `Date` of an answer that has just come; one that says nothing is left out. */
  heard(date: string | null): void;
  /** By how many milliseconds this machine is ahead, as of the last answer, to the second. */
  readonly aheadMs: number | undefined;
}

/** The header leaves out what part of its second has gone by: on average, half of it. */
const HALF_SECOND = 500;

/** @param now milliseconds since 1970, by this machine */
export function serverClock(now: () => number = Date.now): ServerClock {
  let aheadMs: number | undefined;
  return {
    heard(date) {
      const there = Date.parse(date ?? "");
      if (!Number.isNaN(there)) aheadMs = now() - there - HALF_SECOND;
    },
    get aheadMs() {
      return aheadMs;
    },
  };
}
