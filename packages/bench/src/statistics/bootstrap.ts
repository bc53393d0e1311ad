import { quantileSorted, sampleWithReplacement } from "simple-statistics";
import type { Interval } from "../report/report.ts";
import type { Random } from "./random.ts";

/** More samples than this say little more, and resampling them takes minutes. */
const SAMPLES_MOST = 1000;

export interface BootstrapOptions {
  readonly random: Random;
  /** How often to resample, by default 2000. */
  readonly resamples?: number | undefined;
  /** 0 to 1, by default 0.95. */
  readonly confidence?: number | undefined;
}

/**
 * The interval of a statistic by the percentile bootstrap (Efron and Tibshirani, An Introduction to
 * the Bootstrap, chapter 13): as many of the samples are drawn with replacement as there are, again
 * and again, and what is left when both tails are cut off the statistics of the draws is the
 * interval. Of more than 1000 samples, 1000 evenly taken stand for all: the interval is wider for it,
 * never narrower.
 *
 * Below some ten samples the interval is too narrow, and of one sample it is a point.
 *
 * @throws Error where there are no samples
 */
export function bootstrapInterval(
  samples: readonly number[],
  statistic: (values: readonly number[]) => number,
  { random, resamples = 2000, confidence = 0.95 }: BootstrapOptions,
): Interval {
  const drawn = thinned(samples, SAMPLES_MOST);
  const statistics = new Float64Array(resamples);
  for (let i = 0; i < resamples; i++) {
    statistics[i] = statistic(sampleWithReplacement(drawn, drawn.length, random));
  }
  const sorted = Array.from(statistics.toSorted());
  const tail = (1 - confidence) / 2;
  return {
    low: quantileSorted(sorted, tail),
    high: quantileSorted(sorted, 1 - tail),
    confidence,
  };
}

/** At most so many of the values, evenly taken, in their order. */
export function thinned<T>(values: readonly T[], most: number): T[] {
  if (values.length <= most) return [...values];
  return Array.from({ length: most }, (_, i) => values[Math.floor((i * values.length) / most)]!);
}
