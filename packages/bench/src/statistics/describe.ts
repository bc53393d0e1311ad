import { mean, quantileSorted } from "simple-statistics";
import type { Distribution } from "../report/report.ts";
import { bootstrapInterval } from "./bootstrap.ts";

export { mean };

/**
 * The percentile as NumPy, R (type 7) and spreadsheets define it: interpolated linearly between the two
 * values around rank p · (n − 1).
 *
 * @param p 0 to 1
 * @throws Error if there are no values
 */
export function percentile(values: readonly number[], p: number): number {
  return quantileSorted(ascending(values), p);
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Order statistics of samples, and the 95 % interval of their median. */
export function distributionOf(samples: readonly number[]): Distribution {
  const sorted = ascending(samples);
  const at = (p: number): number => quantileSorted(sorted, p);
  return {
    mean: mean(sorted),
    least: at(0),
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    most: at(1),
    interval: bootstrapInterval(samples, median),
  };
}

/** Sorted, in a typed array, which sorts several times as fast; simple-statistics only indexes it. */
function ascending(values: readonly number[]): number[] {
  return new Float64Array(values).toSorted() as unknown as number[];
}
