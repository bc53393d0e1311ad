/**
 * Targets and their verdicts. A time is never known exactly, so a bound is judged by the interval of the
 * value, and the interval has a limit: too much noise makes a target inconclusive, and never met.
 */
import { availableParallelism } from "node:os";
import type { Interval, Measurement, Target, Unit, Verdict } from "../report/report.ts";
import { bootstrapInterval } from "../statistics/bootstrap.ts";
import { median } from "../statistics/describe.ts";
import { fitLine, fitPowerLaw } from "../statistics/regression.ts";
import type { LoadWatch } from "./machine.ts";

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
 *
 * @param widest half the width of a narrow interval
 */
export function verdictOf(
  {
    value,
    interval = { low: value, high: value, confidence: 1 },
    kind,
    least = -Infinity,
    most = Infinity,
  }: Pick<Target, "value" | "interval" | "kind" | "least" | "most">,
  widest: number = WIDEST[kind] * Math.abs(value),
): Verdict {
  const { low, high } = interval;
  if (Number.isNaN(value) || low > most || high < least) return "missed";
  if (low >= least && high <= most) return "met";
  const inside = value >= least && value <= most;
  return inside && Math.max(high - value, value - low) <= widest ? "met" : "inconclusive";
}

function judged(target: Omit<Target, "verdict">, widest?: number): Target {
  return { ...target, verdict: verdictOf(target, widest) };
}

/** A target for something that has no spread: a count, a number of bytes. */
export function exactTarget(name: string, value: number, unit: Unit, bound: Bound): Target {
  return judged({ name, value, unit, ...bound, kind: "exact" });
}

/** The peak memory of a process in bytes with up to four threads, and what each further one may add. */
const PEAK_MOST = 256 * 2 ** 20;
const THREAD_MOST = 16 * 2 ** 20;

/** @param threads of the store: by default one for each core, and at most eight */
export function peakBound(threads: number = Math.min(8, availableParallelism())): {
  readonly most: number;
  readonly goal: number;
} {
  return { most: PEAK_MOST + THREAD_MOST * Math.max(0, threads - 4), goal: PEAK_MOST };
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
  how: { readonly unit: Unit; readonly kind: "cpu" | "wall" },
): Target {
  if (samples.length === 0 || samples.some(Number.isNaN)) {
    return judged({ name, value: Number.NaN, ...how, ...bound });
  }
  const few = samples.length < SAMPLES_LEAST;
  const interval: Interval = few
    ? { low: Math.min(...samples), high: Math.max(...samples), confidence: CONFIDENCE }
    : bootstrapInterval(samples, median, { confidence: CONFIDENCE });
  const target = judged({ name, value: median(samples), ...how, ...bound, interval });
  return few && target.verdict === "met" ? { ...target, verdict: "inconclusive" } : target;
}

/** A target for the median of a measurement, in seconds of elapsed time. */
export function timeTarget(name: string, { samples }: Measurement, bound: Bound): Target {
  return sampledTarget(name, samples, bound, { unit: "seconds", kind: "wall" });
}

export interface Ratio {
  /** Each is a measurement, or several whose times are added up in each round. */
  readonly of: Measurement | readonly Measurement[];
  readonly to: Measurement | readonly Measurement[];
  /** The time to compare; by default elapsed time. */
  readonly kind?: "cpu" | "wall" | undefined;
}

type Columns = readonly (readonly number[])[];

/**
 * A target for the ratio of times that were measured in the same rounds. The ratio is computed for each
 * round, because what a round measured met the same conditions of the machine.
 *
 * @throws RangeError if the measurements differ in the number of samples or lack the time
 */
export function ratioTarget(name: string, { of, to, kind = "wall" }: Ratio, bound: Bound): Target {
  const columnsOf = (side: Ratio["of"]): Columns =>
    [side].flat().map(({ samples, cpuSamples = [] }) => (kind === "cpu" ? cpuSamples : samples));
  const [above, below] = [columnsOf(of), columnsOf(to)];
  const rounds = above[0]?.length ?? 0;
  if (
    rounds === 0 ||
    below.length === 0 ||
    [...above, ...below].some((column) => column.length !== rounds)
  ) {
    throw new RangeError(`${name}: a ratio needs the same number of samples of all measurements`);
  }
  const sumAt = (columns: Columns, round: number): number =>
    columns.reduce((sum, column) => sum + column[round]!, 0);
  const ratios = Array.from({ length: rounds }, (_, i) => sumAt(above, i) / sumAt(below, i));
  return sampledTarget(name, ratios, bound, { unit: "ratio", kind });
}

/** Elapsed time, in multiples of CPU time, that shows that work on one thread waited for a core. */
const WAITED = 1.2;

/**
 * Whether threads had no core of their own: there is only one, or others use them. Work on one thread may
 * still have found a core then, so that its waiting alone does not show it.
 *
 * @param alone work on one thread in the same rounds, which waits for nothing else
 * @param load watched in the same rounds
 */
export function lackCores(alone: readonly Measurement[], load: LoadWatch): boolean {
  const waited = ({ samples, cpuSamples }: Measurement) =>
    cpuSamples !== undefined && median(samples) > WAITED * median(cpuSamples);
  return availableParallelism() < 2 || alone.some(waited) || load.isBusy();
}

/**
 * A target of elapsed time. On a busy machine, its time is only an upper limit: the interval is opened to
 * the side of the bound, so that the target cannot be missed, nor can a drift from a baseline of up to twice its bound.
 */
export function unlessBusy(target: Target, busy: boolean): Target {
  const { interval, least } = target;
  if (!busy || interval === undefined) return target;
  const high = Math.max(interval.high, 2 * (least ?? 0));
  const wider = {
    ...target,
    interval: least === undefined ? { ...interval, low: 0 } : { ...interval, high },
  };
  // Too few samples stay too few.
  return target.verdict === "inconclusive" ? wider : { ...wider, verdict: verdictOf(wider) };
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
  const { slope, error } = fitPowerLaw(points);
  const target = { name, value: slope, unit: "exponent", most, kind: "exact" } as const;
  if (points.length < 5) return judged(target);
  // An exponent near 0 has no meaningful relative width, so the limit of its error is absolute.
  return judged({ ...target, interval: around(slope, error) }, EXPONENT_ERROR);
}

/** The share of samples at the start that is ignored, while buffers and compiled code are allocated. */
const WARM_UP = 0.3;

/**
 * In multiples of the bound, what two standard errors above the slope may reach: beyond it, they hide a leak
 * that has to be found, and the target is inconclusive even if the slope itself keeps the bound.
 */
const UNCERTAIN = 4;

/**
 * A target for the growth of memory per round: the slope of a line through the samples after the warm-up,
 * with two standard errors on either side. A slope of zero exceeds them once in forty runs.
 *
 * @param points rounds done, ascending, and bytes of resident memory
 * @param most tolerated bytes per round
 * @throws RangeError if fewer than 3 samples remain, which give no error of the slope
 */
export function leakTarget(
  name: string,
  points: readonly (readonly [rounds: number, bytes: number])[],
  most: number,
): Target {
  const warm = points.slice(Math.floor(points.length * WARM_UP));
  if (warm.length < 3) throw new RangeError("a verdict needs three samples after the warm-up");
  const { slope, error } = fitLine(warm);
  const target = { name, value: slope, unit: "bytes", most, kind: "exact" } as const;
  return judged({ ...target, interval: around(slope, error) }, UNCERTAIN * most - slope);
}

function around(value: number, error: number): Interval {
  return { low: value - 2 * error, high: value + 2 * error, confidence: 0.95 };
}
