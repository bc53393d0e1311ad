import type { Measurement, Target } from "../report/report.ts";
import { bootstrapInterval } from "../statistics/bootstrap.ts";
import { isMet } from "./measure.ts";
import { median } from "../statistics/describe.ts";
import type { Random } from "../statistics/random.ts";

/** A target and whether it is met; NaN meets none. */
export function targetOf(
  name: string,
  value: number,
  unit: Target["unit"],
  bound: { readonly least: number } | { readonly most: number },
): Target {
  return { name, value, unit, ...bound, met: isMet({ name, value, ...bound }) };
}

/** The confidence of the regression gate: 1 in 100 true values is outside the interval. */
const CONFIDENCE = 0.99;

/**
 * A bound on the ratio of one time to the sum of others, all measured in the same rounds. The ratio is
 * computed for each round, because a round met the same conditions of the machine. Its value is the
 * median over the rounds, which decides `met`; its interval decides `isShownMissed`.
 *
 * @param parts measurements whose times are summed
 * @throws RangeError if the measurements differ in the number of samples
 */
export function ratioTarget(
  name: string,
  { whole, parts }: { readonly whole: Measurement; readonly parts: readonly Measurement[] },
  bound: { readonly least: number } | { readonly most: number },
  random: Random,
): Target {
  const ratios = whole.samples.map((seconds, round) => {
    const others = parts.map(({ samples }) => samples[round] ?? Number.NaN);
    return seconds / others.reduce((sum, other) => sum + other, 0);
  });
  if (parts.length === 0 || parts.some(({ samples }) => samples.length !== ratios.length)) {
    throw new RangeError(`${name}: a ratio needs the same number of samples of all measurements`);
  }
  const interval = bootstrapInterval(ratios, median, { random, confidence: CONFIDENCE });
  return { ...targetOf(name, median(ratios), "ratio", bound), interval };
}

/**
 * Whether a target is significantly missed, which fails an acceptance test. If the target has an
 * interval, all of it must be beyond the bound, so that a median beyond it by chance on a busy machine
 * is not a failure. Without an interval, the value decides.
 */
export function isShownMissed({
  met,
  interval,
  least = -Infinity,
  most = Infinity,
}: Target): boolean {
  if (met || interval === undefined) return !met;
  return interval.low > most || interval.high < least;
}
