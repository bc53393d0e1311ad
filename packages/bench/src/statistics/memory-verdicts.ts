import type { Target } from "../harness/measure.ts";
import { median } from "./describe.ts";
import { fitLine } from "./regression.ts";

export interface LeakVerdict {
  /** Bytes of resident memory that each round leaves behind. */
  readonly perRound: number;
  /** Standard error of that. */
  readonly error: number;
  /** Samples that the line was fitted to. */
  readonly samples: number;
  readonly grows: boolean;
}

/**
 * What may be left a round before it is called growth: less than a leak of one small blob, and
 * more than the drift of an allocator that has not settled yet.
 */
const TOLERATED = 2048;
/** The share of samples at the start that is left out: buffers and code get to their places there. */
const WARM_UP = 0.3;

/**
 * Whether memory grows: the slope of a line through the samples behind the warm-up is above what is
 * tolerated, and not by chance.
 *
 * @param rounds rounds done at each sample, ascending
 * @param bytes resident memory at each
 * @throws RangeError where too few samples are left for a line with an error, fewer than 3
 */
export function leakVerdict(rounds: readonly number[], bytes: readonly number[]): LeakVerdict {
  const from = Math.floor(rounds.length * WARM_UP);
  const xs = rounds.slice(from);
  if (xs.length < 3) throw new RangeError("a verdict takes at least three samples");
  const { slope, error } = fitLine(xs, bytes.slice(from));
  // Two standard errors: a slope of nothing comes out above them once in forty runs.
  return {
    perRound: slope,
    error,
    samples: xs.length,
    grows: slope - 2 * error > TOLERATED,
  };
}

/** Peaks of the runs, MiB, by the size of the content, MiB. */
export type Peaks = ReadonlyMap<number, readonly number[]>;

/** How much more memory a longer stream may take: as good as none. */
const MOST = 1.1;

/**
 * That memory does not depend on the length: the median peak of each size against that of the
 * smallest.
 */
export function peakTargets(way: string, peaks: Peaks): Target[] {
  const [smallest, ...others] = [...peaks].toSorted(([a], [b]) => a - b);
  return others.map(([mib, runs]) => ({
    name: `${way} of ${mib} MiB: times the peak of ${smallest![0]} MiB`,
    value: median(runs) / median(smallest![1]),
    most: MOST,
  }));
}
