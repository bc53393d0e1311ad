import type { Measurement, Target } from "../report/report.ts";
import { bootstrapInterval } from "../statistics/bootstrap.ts";
import { isMet } from "./measure.ts";
import { median } from "../statistics/describe.ts";
import type { Random } from "../statistics/random.ts";

/** A target, with whether it is met; a value that is no number meets none. */
export function targetOf(
  name: string,
  value: number,
  unit: Target["unit"],
  bound: { readonly least: number } | { readonly most: number },
): Target {
  return { name, value, unit, ...bound, met: isMet({ name, value, ...bound }) };
}

/** As the gate on regressions has it: one in a hundred may lie outside, on either side. */
const CONFIDENCE = 0.99;

/**
 * A bound on the time of one thing in multiples of that of others, which were all measured in turn.
 * The ratio is taken round by round, because what one round holds met the same moments of the
 * machine; its value is the median over the rounds, and `met` says whether that keeps the bound. The
 * interval says what `isShownMissed` goes by.
 *
 * @param parts what the others took, which are added up
 * @throws RangeError where the measurements do not have as many samples
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
    throw new RangeError(`${name}: ratios take as many samples of everything`);
  }
  const interval = bootstrapInterval(ratios, median, { random, confidence: CONFIDENCE });
  return { ...targetOf(name, median(ratios), "ratio", bound), interval };
}

/**
 * Whether a target is shown to be missed, which is what fails an acceptance test. Where the target
 * has an interval, that is where all of it lies beyond the bound: a median that lies beyond it by
 * chance, on a machine with other things to do, fails nobody. A target without one goes by its value.
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
