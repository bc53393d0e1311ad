/**
 * Targets and their verdicts. A time is never known exactly, so a bound is judged by the interval of the
 * value, and the interval has a limit: too much noise makes a target inconclusive, and never met.
 */
import type { Interval, Measurement, Target, Unit, Verdict } from "../report/report.ts";
import { bootstrapInterval } from "../statistics/bootstrap.ts";
import { median } from "../statistics/describe.ts";
import type { Random } from "../statistics/random.ts";
import { fitPowerLaw } from "../statistics/regression.ts";

/** The value that decides the verdict, and perhaps a better one that is wanted. */
export type Bound = ({ readonly least: number } | { readonly most: number }) & {
  readonly goal?: number | undefined;
};

/** The confidence of all intervals of targets: 1 in 100 true values is outside. */
const CONFIDENCE = 0.99;

/** Half the width of an interval, as a share of the value, above which noise decides the verdict. */
export const WIDEST: Readonly<Record<Target["kind"], number>> = { cpu: 0.15, wall: 0.3, exact: 0 };

/** The largest error of an exponent whose interval contains the bound. */
const EXPONENT_ERROR = 0.25;

/** With fewer samples, the bootstrap underestimates the interval. */
export const SAMPLES_LEAST = 5;

/**
 * The verdict on a value. If the whole interval is on one side of the bound, that side decides. If the
 * bound lies inside the interval, the value keeps it only if the interval is narrow and the value itself
 * is on the right side. NaN keeps no bound.
 */
export function verdictOf({
  value,
  interval,
  kind,
  least = -Infinity,
  most = Infinity,
}: Pick<Target, "value" | "interval" | "kind" | "least" | "most">): Verdict {
  if (Number.isNaN(value)) return "missed";
  const inside = value >= least && value <= most;
  if (interval === undefined) return inside ? "met" : "missed";
  const { low, high } = interval;
  if (low > most || high < least) return "missed";
  if (low >= least && high <= most) return "met";
  const width = Math.max(high - value, value - low) / Math.abs(value);
  return inside && width <= WIDEST[kind] ? "met" : "inconclusive";
}

function judged(target: Omit<Target, "verdict">): Target {
  return { ...target, verdict: verdictOf(target) };
}

/** A target for something that has no spread: a count, a number of bytes. */
export function exactTarget(name: string, value: number, unit: Unit, bound: Bound): Target {
  return judged({ name, value, unit, ...bound, kind: "exact" });
}

interface Sampled {
  readonly unit: Unit;
  readonly kind: "cpu" | "wall";
  readonly random: Random;
}

/**
 * A target for the median of samples.
 *
 * @param samples in the unit of the target; with fewer than `SAMPLES_LEAST`, and the value inside its
 *   bound, the target is inconclusive
 */
export function sampledTarget(
  name: string,
  samples: readonly number[],
  bound: Bound,
  { unit, kind, random }: Sampled,
): Target {
  const value = samples.length === 0 ? Number.NaN : median(samples);
  if (samples.length === 0 || samples.some(Number.isNaN)) {
    return judged({ name, value: Number.NaN, unit, ...bound, kind });
  }
  const interval: Interval =
    samples.length < SAMPLES_LEAST
      ? { low: Math.min(...samples), high: Math.max(...samples), confidence: CONFIDENCE }
      : bootstrapInterval(samples, median, { random, confidence: CONFIDENCE });
  const target = judged({ name, value, unit, ...bound, interval, kind });
  const tooFew = samples.length < SAMPLES_LEAST && target.verdict === "met";
  return tooFew ? { ...target, verdict: "inconclusive" } : target;
}

/** A target for the median of a measurement, in seconds of elapsed time. */
export function timeTarget(
  name: string,
  { samples }: Measurement,
  bound: Bound,
  random: Random,
): Target {
  return sampledTarget(name, samples, bound, { unit: "seconds", kind: "wall", random });
}

export interface Ratio {
  /** Each is a measurement, or several whose times are added up in each round. */
  readonly of: Measurement | readonly Measurement[];
  readonly to: Measurement | readonly Measurement[];
  /** The time to compare; by default elapsed time. */
  readonly kind?: "cpu" | "wall" | undefined;
}

/**
 * A target for the ratio of times that were measured in the same rounds. The ratio is computed for each
 * round, because what a round measured met the same conditions of the machine.
 *
 * @throws RangeError if the measurements differ in the number of samples or lack the time
 */
export function ratioTarget(
  name: string,
  { of, to, kind = "wall" }: Ratio,
  bound: Bound,
  random: Random,
): Target {
  const all = [of, to].map((side) => sumOf(name, [side].flat(), kind));
  const [above, below] = all as [number[], number[]];
  if (above.length !== below.length) {
    throw new RangeError(`${name}: a ratio needs the same number of samples of all measurements`);
  }
  const ratios = above.map((seconds, round) => seconds / below[round]!);
  return sampledTarget(name, ratios, bound, { unit: "ratio", kind, random });
}

function sumOf(name: string, parts: readonly Measurement[], kind: "cpu" | "wall"): number[] {
  const columns = parts.map(({ samples, cpuSamples }) => (kind === "cpu" ? cpuSamples : samples));
  const [first] = columns;
  if (first === undefined || columns.some((column) => column?.length !== first.length)) {
    throw new RangeError(`${name}: a ratio needs the same number of samples of all measurements`);
  }
  return first.map((_, round) => columns.reduce((sum, column) => sum + column![round]!, 0));
}

/** Elapsed time of work on one thread, as a multiple of its CPU time, if other programs take cores. */
const BUSY = 1.2;

/**
 * A target for the speed of threads: inconclusive instead of missed, if not even one thread had a core for
 * itself.
 *
 * @param alone what one thread did in the same rounds
 */
export function unlessBusy(target: Target, alone: readonly Measurement[]): Target {
  const busy = alone.some(
    ({ samples, cpuSamples = [] }) => median(samples) > BUSY * median(cpuSamples),
  );
  return busy && target.verdict === "missed" ? { ...target, verdict: "inconclusive" } : target;
}

/**
 * A target for the exponent e of value ~ x^e, with two standard errors on either side.
 *
 * @param points x and value, three or more; with fewer than five the value alone decides
 */
export function exponentTarget(
  name: string,
  points: readonly (readonly [x: number, value: number])[],
  most: number,
): Target {
  const { exponent, error } = fitPowerLaw(
    points.map(([x]) => x),
    points.map(([, value]) => value),
  );
  const interval = { low: exponent - 2 * error, high: exponent + 2 * error, confidence: 0.95 };
  const target = { name, value: exponent, unit: "exponent" as const, most, kind: "exact" as const };
  const side = exponent > most ? "missed" : "met";
  if (points.length < 5) return { ...target, verdict: side };
  // An exponent near 0 has no meaningful relative width, so the limit of its error is absolute.
  const clear = exponent <= most && (interval.high <= most || 2 * error <= EXPONENT_ERROR);
  const verdict = interval.low > most ? "missed" : clear ? "met" : "inconclusive";
  return { ...target, interval, verdict };
}
