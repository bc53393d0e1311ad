import { type Target } from "./measure.ts";
import { median } from "./statistics/describe.ts";

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
