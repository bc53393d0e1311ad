import { errorFunction, probit, quantileSorted, sampleWithReplacement } from "simple-statistics";
import type { Interval } from "../report/report.ts";
import { seededRandom } from "./random.ts";

/** More samples add little precision, and resampling them takes minutes. */
const SAMPLES_MOST = 1000;

export interface BootstrapOptions {
  /** Number of resamples, by default 2000. */
  readonly resamples?: number | undefined;
  /** 0 to 1, by default 0.95. */
  readonly confidence?: number | undefined;
}

/**
 * The bootstrap confidence interval of a statistic by the percentile method (Efron and Tibshirani, An
 * Introduction to the Bootstrap, chapter 13). The percentiles are expanded to correct the narrowness
 * bias of few samples (Hesterberg, What Teachers Should Know About the Bootstrap, 2015, section 5.4).
 *
 * More than 1000 samples are thinned evenly to 1000, which widens the interval. One sample gives a
 * point. With ten or fewer skewed samples the interval is still too narrow.
 *
 * @throws Error if there are no samples
 */
export function bootstrapInterval(
  samples: readonly number[],
  statistic: (values: readonly number[]) => number,
  { resamples = 2000, confidence = 0.95 }: BootstrapOptions = {},
): Interval {
  const drawn = thinned(samples, SAMPLES_MOST);
  // Seeded alike for each interval, so that equal samples have equal intervals.
  const random = seededRandom(1);
  const statistics = new Float64Array(resamples);
  for (let i = 0; i < resamples; i++) {
    statistics[i] = statistic(sampleWithReplacement(drawn, drawn.length, random));
  }
  const sorted = Array.from(statistics.toSorted());
  const tail = expandedTail(drawn.length, confidence);
  return {
    low: quantileSorted(sorted, tail),
    high: quantileSorted(sorted, 1 - tail),
    confidence,
  };
}

/** The share to cut off on each side for a number of samples. */
export function expandedTail(count: number, confidence: number): number {
  const nominal = (1 - confidence) / 2;
  if (count < 2) return nominal;
  const freedom = count - 1;
  const z = Math.sqrt(count / freedom) * studentQuantile(nominal, freedom);
  return Math.max(0, 1 + errorFunction(z / Math.SQRT2)) / 2;
}

/** Quantile of Student's t from the normal distribution (Abramowitz and Stegun 26.7.5). */
function studentQuantile(p: number, freedom: number): number {
  const z = probit(p);
  const terms = [
    z,
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
  ];
  return terms.reduce((sum, term, power) => sum + term / freedom ** power, 0);
}

/** At most `most` values, evenly spaced, in their order. */
export function thinned<T>(values: readonly T[], most: number): T[] {
  if (values.length <= most) return [...values];
  return Array.from({ length: most }, (_, i) => values[Math.floor((i * values.length) / most)]!);
}
