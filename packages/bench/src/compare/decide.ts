/** Verdicts on pairs of processes, and on what was counted. */
import { mean, sampleStandardDeviation } from "simple-statistics";
import { exactTarget } from "../harness/targets.ts";
import type {
  Counter,
  Interval,
  ProcessPair,
  ProcessSide,
  Target,
  Verdict,
} from "../report/report.ts";
import { median } from "../statistics/describe.ts";
import { COUNTER_WORDS, type CounterName, type Counts } from "./round/job.ts";

/** What is compared. Limits of the change are relative: 0.1 is 10 % more. */
export interface Quantity {
  readonly name: string;
  readonly kind: Target["kind"];
  readonly of: keyof ProcessSide;
  /** Missed if the whole interval is above it. */
  readonly most: number;
  /** A difference that has to be found: met only if the whole interval is below it. */
  readonly mustFind: number;
  /** The largest half width of an interval that can be met, of ln(head / base). */
  readonly widest: number;
}

export const QUANTITIES: readonly Quantity[] = [
  // 10 % has to be found, and is, with room for the several looks at one measurement.
  { name: "CPU time", kind: "cpu", of: "cpu", most: 0.025, mustFind: 0.09, widest: 0.15 },
  { name: "elapsed time", kind: "wall", of: "elapsed", most: 0.1, mustFind: 0.3, widest: 0.3 },
  // Of a kind that warns if it is inconclusive, even in a strict run.
  { name: "peak memory", kind: "wall", of: "memory", most: 0.05, mustFind: 0.15, widest: 0.15 },
];

/** The half width of an interval that is useless and is not shown. */
const USELESS = 5;

/**
 * A target for each quantity.
 *
 * @param pairs 1 or more; with fewer than about five, nothing is conclusive
 * @param last whether there will be no more pairs
 */
export function judge(task: string, pairs: readonly ProcessPair[], last: boolean): Target[] {
  return QUANTITIES.map((quantity) => {
    const { low, high, confidence } = intervalOf(pairs.map((pair) => ratioOf(pair, quantity)));
    const interval = { low: Math.expm1(low), high: Math.expm1(high), confidence };
    return {
      name: `${task}: ${quantity.name}`,
      value: Math.expm1((low + high) / 2),
      unit: "change",
      most: quantity.most,
      interval: (high - low) / 2 < USELESS ? interval : undefined,
      kind: quantity.kind,
      verdict: verdictOf({ low, high }, quantity, last),
    };
  });
}

/**
 * ln(head / base) of a pair of processes. Neighbouring batches are compared, because the speed of the
 * machine varies less between them, and the median ignores batches that something interrupted.
 */
export function ratioOf({ base, head }: ProcessPair, { of }: Pick<Quantity, "of">): number {
  const [before, after] = [[base[of]].flat(), [head[of]].flat()];
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
export function verdictOf(
  { low, high }: Pick<Interval, "low" | "high">,
  { most, mustFind, widest }: Quantity,
  last: boolean,
): Verdict {
  const [middle, half, found] = [(low + high) / 2, (high - low) / 2, Math.log1p(mustFind)];
  // Noise must not be met, but it cannot hide a difference larger than itself either.
  if (half > widest) return low > widest ? "missed" : "inconclusive";
  if (low > Math.log1p(most)) return "missed";
  if (high <= found) return "met";
  if (!last || half > found) return "inconclusive";
  return middle > found / 2 ? "missed" : "met";
}

/**
 * Whether more pairs are unnecessary: nothing is inconclusive, or the task fails anyway.
 *
 * @param first the targets of the first measurement, if this is the second: what it met is not missed
 */
export function isSettled(targets: readonly Target[], first = targets): boolean {
  return (
    targets.every(({ verdict }) => verdict !== "inconclusive") ||
    targets.some(({ verdict }, i) => verdict === "missed" && first[i]!.verdict !== "met")
  );
}

/**
 * The targets of a second measurement. One that the first met and the second missed is inconclusive. What
 * was unclear when another miss ended the first is missed: the task is worse in both.
 */
export function confirmed(first: readonly Target[], second: readonly Target[]): Target[] {
  return second.map((target, i) =>
    target.verdict === "missed" && first[i]!.verdict === "met"
      ? { ...target, verdict: "inconclusive" }
      : target,
  );
}

/** Targets of a task that may be missed, because its change is meant: without the bounds of those. */
export function accepted(targets: readonly Target[]): Target[] {
  return targets.map((target) =>
    target.verdict === "missed"
      ? { ...target, least: undefined, most: undefined, verdict: "met" }
      : target,
  );
}

/** Counters of a task, named as in the suite `counters`. */
export function countersOf(task: string, counts: Counts): Counter[] {
  return Object.entries(COUNTER_WORDS).flatMap(([name, words]): Counter[] => {
    const value = counts[name as CounterName];
    const unit = /^bytes|Overhead$/u.test(name) ? "bytes" : "count";
    return value === undefined ? [] : [{ name: `${task}: ${words}`, value, unit }];
  });
}

/**
 * Compares counters exactly: a target for each that changed. None may grow, and threads not become fewer.
 * A counter that only one side has is omitted.
 */
export function changedCounters(base: readonly Counter[], head: readonly Counter[]): Target[] {
  return head.flatMap(({ name, value }) => {
    const before = base.find((counter) => counter.name === name)?.value ?? value;
    const bound = { ...(name.endsWith(COUNTER_WORDS.threads) && { least: before }), most: before };
    // All digits, also of bytes.
    const target = exactTarget(`${name}, against the base`, value, "count", bound);
    return before === value ? [] : [target];
  });
}
