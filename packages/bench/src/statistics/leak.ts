import type { Target } from "../report/report.ts";
import { fitLine } from "./regression.ts";

/** The share of samples at the start that is ignored, while buffers and compiled code are allocated. */
const WARM_UP = 0.3;

/** Two standard errors above this, in multiples of the bound, hide a leak that has to be found. */
const UNCERTAIN = 4;

/**
 * A target for the growth of memory per round: the slope of a line through the samples after the warm-up,
 * with two standard errors on either side. A slope of zero exceeds them once in forty runs.
 *
 * @param rounds rounds done at each sample, ascending
 * @param bytes resident memory at each sample
 * @param most tolerated bytes per round
 * @throws RangeError if fewer than 3 samples remain, which give no error of the slope
 */
export function leakTarget(
  name: string,
  rounds: readonly number[],
  bytes: readonly number[],
  most: number,
): Target {
  const from = Math.floor(rounds.length * WARM_UP);
  const xs = rounds.slice(from);
  if (xs.length < 3) {
    throw new RangeError("a verdict needs at least three samples after the warm-up");
  }
  const { slope, error } = fitLine(xs, bytes.slice(from));
  const interval = { low: slope - 2 * error, high: slope + 2 * error, confidence: 0.95 };
  const clear = slope <= most && interval.high <= UNCERTAIN * most;
  const verdict = interval.low > most ? "missed" : clear ? "met" : "inconclusive";
  return { name, value: slope, unit: "bytes", most, interval, kind: "exact", verdict };
}
