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

/** How much slower a head may be on a machine without noise, as ln(head / base). */
const OWN_TOLERANCE: Readonly<Record<TaskComparison["bound"], number>> = {
  cpu: Math.log(1.05),
  io: Math.log(1.15),
};

/**
 * Judges the rounds of a task. A head is slower only where 99 % of the resampled medians of
 * ln(head / base) lie above the tolerance, and the tolerance grows with what two runs of one and the
 * same base differ by: a restless machine makes the gate blunt rather than wrong.
 *
 * @param rounds 1 or more; below some ten, the intervals are too narrow
 */
export function judge(
  rounds: readonly Round[],
  bound: TaskComparison["bound"],
  random: Random,
): Attempt {
  const options = { random, resamples: RESAMPLES, confidence: CONFIDENCE };
  const ratios = rounds.map(({ base, head }) => Math.log(head / base));
  const interval = bootstrapInterval(ratios, median, options);
  const still = rounds.map(({ base, again }) => Math.log(again / base));
  const noiseInterval = bootstrapInterval(still, median, options);
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
 * Whether more rounds are pointless. They are not where the interval reaches beyond the task's own
 * tolerance, even if not beyond that of so much noise: more rounds make the noise less.
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

/** Compares what was counted, exactly. What only one side has is left out. */
export function compareCounts(base: Counts, head: Counts): Counter[] {
  return COUNTERS.flatMap((name): Counter[] => {
    const [was, is] = [base[name], head[name]];
    if (was === undefined || is === undefined) return [];
    const change = is === was ? "none" : is > was ? "more" : "less";
    return [{ name, base: was, head: is, change }];
  });
}
