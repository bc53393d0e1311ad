import type { DropReason, RunTotals } from "../segments/metadata.ts";

/** The counts of a run, as they grow. */
export interface Counters {
  seen: number;
  /** In the spool, or uploaded from there. */
  stored: number;
  notKept: number;
  bodiesDropped: number;
  readonly dropped: Partial<Record<DropReason, number>>;
  /** Began, and not over. */
  open: number;
  /** Over, and not yet in the spool. */
  queued: number;
}

export function createCounters(): Counters {
  return { seen: 0, stored: 0, notKept: 0, bodiesDropped: 0, dropped: {}, open: 0, queued: 0 };
}

export function countDropped(counters: Counters, reason: DropReason, count: number = 1): void {
  counters.dropped[reason] = (counters.dropped[reason] ?? 0) + count;
}

/** @param more exchanges of a segment that is being sealed, with the bodies it lacks */
export function totalsOf(
  { seen, stored, notKept, bodiesDropped, dropped }: Counters,
  more: { readonly count: number; readonly bodiesDropped: number } = NOTHING,
): RunTotals {
  return {
    seen,
    stored: stored + more.count,
    notKept,
    dropped: { ...dropped },
    bodiesDropped: bodiesDropped + more.bodiesDropped,
  };
}

const NOTHING = { count: 0, bodiesDropped: 0 };
