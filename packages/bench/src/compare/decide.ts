import { bootstrapInterval } from "../statistics/bootstrap.ts";
import { median } from "../statistics/describe.ts";
import type { Random } from "../statistics/random.ts";
import type {
  Attempt,
  Counter,
  CounterName,
  Round,
  TaskComparison,
  Verdict,
} from "./comparison.ts";
import type { Counts } from "./round/job.ts";

const CONFIDENCE = 0.99;
const RESAMPLES = 10_000;

/** Tolerated slowdown on a machine without noise, as ln(head / base). */
const OWN_TOLERANCE: Readonly<Record<TaskComparison["bound"], number>> = {
  cpu: Math.log(1.05),
  io: Math.log(1.15),
};

/**
 * Judges the rounds of a task. The head is slower only if the whole 99 % interval of the median of
 * ln(head / base) is above the tolerance. The tolerance grows with the difference between two runs of
 * the same base, so that a noisy machine makes the gate less sensitive, but not wrong.
 *
 * @param rounds 1 or more; with fewer than about ten, the intervals are too narrow
 */
export function judge(
  rounds: readonly Round[],
  bound: TaskComparison["bound"],
  random: Random,
): Attempt {
  const options = { random, resamples: RESAMPLES, confidence: CONFIDENCE };
  const ratios = rounds.map(({ base, head }) => Math.log(head / base));
  const interval = bootstrapInterval(ratios, median, options);
  const baseRatios = rounds.map(({ base, again }) => Math.log(again / base));
  const noiseInterval = bootstrapInterval(baseRatios, median, options);
  const noise = (noiseInterval.high - noiseInterval.low) / 2;
  const tolerance = Math.max(OWN_TOLERANCE[bound], 2 * noise);
  return {
    rounds,
    ratios,
    median: median(ratios),
    interval,
    noise,
    tolerance,
    verdict: verdictOf(interval, tolerance),
  };
}

export function verdictOf({ low, high }: Attempt["interval"], tolerance: number): Verdict {
  if (low > tolerance) return "slower";
  if (high > tolerance) return "inconclusive";
  return high < -tolerance ? "faster" : "same";
}

/**
 * Whether more rounds are unnecessary. They are necessary while the interval extends beyond the task's
 * own tolerance, even if not beyond the one raised by noise, because more rounds reduce the noise.
 */
export function isSettled({ verdict, interval }: Attempt, bound: TaskComparison["bound"]): boolean {
  return verdict === "slower" || interval.high <= OWN_TOLERANCE[bound];
}

const COUNTERS: readonly CounterName[] = [
  "requests",
  "bytesSent",
  "bytesReceived",
  "bytesHashed",
  "storedOverhead",
];

/** Compares counters exactly. A counter that only one side has is omitted. */
export function compareCounts(base: Counts, head: Counts): Counter[] {
  return COUNTERS.flatMap((name): Counter[] => {
    const [before, after] = [base[name], head[name]];
    if (before === undefined || after === undefined) return [];
    const change = after === before ? "none" : after > before ? "more" : "less";
    return [{ name, base: before, head: after, change }];
  });
}
