import { mean, sampleStandardDeviation } from "simple-statistics";
import type { Interval } from "../report/report.ts";
import { median } from "../statistics/describe.ts";
import {
  type Attempt,
  COUNTERS,
  type Counter,
  type Estimate,
  type Pair,
  QUANTITIES,
  type Quantity,
  type Verdict,
} from "./comparison.ts";
import type { Counts } from "./round/job.ts";

interface Limits {
  /** Worse if the whole interval is above it. */
  readonly tolerance: number;
  /** A difference that has to be found: same only if the whole interval is below it. */
  readonly mustFind: number;
  /** The largest half width of an interval that can be `same`. */
  readonly widest: number;
}

/** All as ln(head / base). */
export const LIMITS: Readonly<Record<Quantity, Limits>> = {
  // 10 % has to be found, and is, with room for the several looks at one measurement.
  cpu: { tolerance: Math.log(1.025), mustFind: Math.log(1.09), widest: 0.15 },
  elapsed: { tolerance: Math.log(1.1), mustFind: Math.log(1.3), widest: 0.3 },
  memory: { tolerance: Math.log(1.05), mustFind: Math.log(1.15), widest: 0.15 },
};

/**
 * @param pairs 1 or more; with fewer than about five, nothing is conclusive
 * @param last whether there will be no more pairs
 */
export function judge(pairs: readonly Pair[], last: boolean = false): Attempt {
  const estimates = QUANTITIES.map((quantity): Estimate => {
    const ratios = pairs.map((pair) => ratioOf(pair, quantity));
    const interval = intervalOf(ratios);
    const ratio = (interval.low + interval.high) / 2;
    return { quantity, ratio, interval, verdict: verdictOf(interval, quantity, last) };
  });
  return { pairs, estimates };
}

/**
 * ln(head / base) of a pair of processes. Neighbouring batches are compared, because the speed of the
 * machine varies less between them, and the median ignores batches that something interrupted.
 */
export function ratioOf({ base, head }: Pair, quantity: Quantity): number {
  if (quantity === "memory") return Math.log(head.memory / base.memory);
  const [before, after] = [base[quantity], head[quantity]];
  return median(after.map((value, i) => Math.log(value / before[i]!)));
}

/** Quantiles 0.995 of Student's t for 1 to 30 degrees of freedom. */
const STUDENT: readonly number[] = [
  63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.25, 3.169, 3.106, 3.055, 3.012, 2.977,
  2.947, 2.921, 2.898, 2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797, 2.787, 2.779, 2.771, 2.763,
  2.756, 2.75,
];

/** Half the width of the interval of one pair, which JSON can hold. */
const UNKNOWN = 1e3;

/** From as many pairs on, the most extreme on each side is left out; twice as many, two; and so on. */
const TRIMMED_FROM = 8;

/**
 * The 99 % interval of the mean of the pairs, without the most extreme ones (Yuen, The two-sample trimmed
 * t, 1974): a process that something disturbed would widen it. Batches of a process are alike, because
 * its memory layout and compiled code are, so that only pairs count as independent. Student's t keeps its
 * confidence with six pairs, where a bootstrap's intervals are too narrow.
 */
export function intervalOf(ratios: readonly number[]): Interval {
  const count = ratios.length;
  const sorted = ratios.toSorted((a, b) => a - b);
  const cut = Math.floor(count / TRIMMED_FROM);
  const kept = sorted.slice(cut, count - cut);
  const centre = mean(kept);
  if (count < 2) return { low: centre - UNKNOWN, high: centre + UNKNOWN, confidence: 0.99 };
  const [least, most] = [kept[0]!, kept.at(-1)!];
  const winsorized = sorted.map((ratio) => Math.max(least, Math.min(most, ratio)));
  const error = (sampleStandardDeviation(winsorized) * Math.sqrt(count)) / kept.length;
  const freedom = kept.length - 1;
  // Abramowitz and Stegun 26.7.5, from 31 degrees of freedom on.
  const half = error * (STUDENT[freedom - 1] ?? 2.5758 + 4.9164 / freedom);
  return { low: centre - half, high: centre + half, confidence: 0.99 };
}

/**
 * The verdict on an interval of ln(head / base). If there will be no more pairs, and the interval reaches
 * no farther from its middle than the difference that has to be found, the middle decides: it is nearer to
 * that difference, or to none.
 */
export function verdictOf({ low, high }: Interval, quantity: Quantity, last: boolean): Verdict {
  const { tolerance, mustFind, widest } = LIMITS[quantity];
  const [middle, half] = [(low + high) / 2, (high - low) / 2];
  // Noise must not pass as sameness, but it cannot hide a difference larger than itself either.
  if (half > widest) return low > widest ? "worse" : "inconclusive";
  if (low > tolerance) return "worse";
  if (high <= mustFind) return high < -tolerance ? "better" : "same";
  if (!last || half > mustFind) return "inconclusive";
  return middle > mustFind / 2 ? "worse" : "same";
}

/** Whether more pairs are unnecessary. */
export function isSettled({ estimates }: Attempt): boolean {
  return estimates.every(({ verdict }) => verdict !== "inconclusive");
}

/** The verdicts of one or two attempts. What is worse in one of two only is inconclusive, or as the second. */
export function verdictsOf(attempts: readonly Attempt[]): Record<Quantity, Verdict> {
  const [first, second] = attempts;
  const of = (quantity: Quantity): Verdict => {
    const [before, after] = [first, second].map(
      (attempt) => attempt?.estimates.find((own) => own.quantity === quantity)?.verdict,
    );
    if (after === undefined) return before!;
    return after === "worse" && before !== "worse" ? "inconclusive" : after;
  };
  return { cpu: of("cpu"), elapsed: of("elapsed"), memory: of("memory") };
}

/** Compares counters exactly. A counter that only one side has is omitted. */
export function compareCounts(base: Counts, head: Counts): Counter[] {
  return COUNTERS.flatMap((name): Counter[] => {
    const [before, after] = [base[name], head[name]];
    if (before === undefined || after === undefined) return [];
    const change = after === before ? "none" : after > before ? "more" : "less";
    return [{ name, base: before, head: after, change }];
  });
}
