import type { Target } from "../harness/measure.ts";
import { median } from "./describe.ts";
import { fitLine } from "./regression.ts";

export interface LeakVerdict {
  /** Growth of resident memory per round, in bytes. */
  readonly perRound: number;
  /** Standard error of `perRound`. */
  readonly error: number;
  /** Number of samples in the fit. */
  readonly samples: number;
  readonly grows: boolean;
}

/**
 * Tolerated growth per round in bytes: less than a leak of one small blob, but more than the drift of
 * an allocator that has not settled.
 */
const TOLERATED = 2048;
/** The share of samples at the start that is ignored, while buffers and compiled code are allocated. */
const WARM_UP = 0.3;

/**
 * Whether memory grows: whether the slope of a line through the samples after the warm-up is
 * significantly above the tolerance.
 *
 * @param rounds rounds done at each sample, ascending
 * @param bytes resident memory at each sample
 * @throws RangeError if fewer than 3 samples remain, which give no error of the slope
 */
export function leakVerdict(rounds: readonly number[], bytes: readonly number[]): LeakVerdict {
  const from = Math.floor(rounds.length * WARM_UP);
  const xs = rounds.slice(from);
  if (xs.length < 3)
    throw new RangeError("a verdict needs at least three samples after the warm-up");
  const { slope, error } = fitLine(xs, bytes.slice(from));
  // Two standard errors: a slope of zero exceeds them once in forty runs.
  return {
    perRound: slope,
    error,
    samples: xs.length,
    grows: slope - 2 * error > TOLERATED,
  };
}

/** Peaks of all runs in MiB, by content size in MiB. */
export type Peaks = ReadonlyMap<number, readonly number[]>;

/** Tolerated ratio of peaks of longer streams. */
const MOST = 1.1;

/**
 * Targets for memory that does not depend on content length: the median peak of each size relative to
 * that of the smallest.
 */
export function peakTargets(way: string, peaks: Peaks): Target[] {
  const [smallest, ...others] = [...peaks].toSorted(([a], [b]) => a - b);
  return others.map(([mib, runs]) => ({
    name: `${way} of ${mib} MiB: times the peak of ${smallest![0]} MiB`,
    value: median(runs) / median(smallest![1]),
    most: MOST,
  }));
}
