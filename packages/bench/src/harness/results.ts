import type { Measurement, MemoryPoint, Pair, SuiteResult } from "../report/report.ts";
import { formatTime } from "../report/units.ts";
import { bootstrapInterval, thinned } from "../statistics/bootstrap.ts";
import { distributionOf, mean } from "../statistics/describe.ts";
import type { Random } from "../statistics/random.ts";
import type { Suite } from "../suite.ts";
import type { Counts } from "./counting.ts";
import type { Sample } from "./measure.ts";

/** The limit of the report's schema. */
const SAMPLES_MOST = 10_000;

/** The name and the classification of a measurement. */
export type Labels = Pick<Measurement, "name" | "series" | "x" | "bytesPerOperation">;

/** A sample that has at least its seconds. */
export type Observed = Pick<Sample, "seconds"> & Partial<Sample>;

export interface Extras {
  readonly memory?: readonly MemoryPoint[] | undefined;
  /** Counts per operation. */
  readonly counts?: Counts | undefined;
}

/**
 * @param samples in the order measured, 1 or more
 * @param random for the interval of the median
 */
export function measurementOf(
  { name, series, x, bytesPerOperation }: Labels,
  samples: readonly Observed[],
  random: Random,
  { memory, counts }: Extras = {},
): Measurement {
  const seconds = samples.map((sample) => sample.seconds);
  const cpu = samples.flatMap(({ cpuSeconds }) => cpuSeconds ?? []);
  const peaks = samples.flatMap(({ peakRss }) => peakRss ?? []);
  return {
    name,
    series,
    ...(x && { x }),
    ...(bytesPerOperation !== undefined && { bytesPerOperation }),
    samples: thinned(seconds, SAMPLES_MOST),
    distribution: distributionOf(seconds, random),
    // The mean, because CPU time advances in steps that may be longer than an operation.
    ...(cpu.length > 0 && { cpuSeconds: mean(cpu) }),
    ...(peaks.length > 0 && { peakRss: Math.max(...peaks) }),
    ...(memory && { memory }),
    ...counts,
  };
}

/**
 * The difference of two measurements whose samples were taken in pairs, in the same order.
 *
 * @throws RangeError if they differ in the number of samples or have fewer than two
 */
export function pairOf(name: string, base: Measurement, head: Measurement, random: Random): Pair {
  const deltas = head.samples.map((seconds, i) => seconds - base.samples[i]!);
  if (deltas.length < 2 || base.samples.length !== deltas.length) {
    throw new RangeError(
      `${name}: pairs need two or more samples of each, and the same number of both`,
    );
  }
  const interval = bootstrapInterval(deltas, mean, { random });
  const meanDelta = mean(deltas);
  const overhead = mean(head.samples) / mean(base.samples) - 1;
  return {
    name,
    base: base.name,
    head: head.name,
    deltas,
    meanDelta,
    interval,
    overhead,
    verdict: verdictOf({ base: base.name, head: head.name, meanDelta, interval, overhead }),
  };
}

/** The results of a completed suite. Absent parts are empty. */
export type Findings = Partial<Pick<SuiteResult, "measurements" | "pairs" | "targets" | "notes">>;

/** @param start `performance.now()` when the suite started */
export function suiteResult(
  { name, title }: Pick<Suite, "name" | "title">,
  start: number,
  { measurements = [], pairs = [], targets = [], notes = [] }: Findings,
): SuiteResult {
  const seconds = (performance.now() - start) / 1000;
  return { suite: name, title, status: "completed", seconds, measurements, pairs, targets, notes };
}

/** @throws RangeError if there is no measurement of that name */
export function named(measurements: readonly Measurement[], name: string): Measurement {
  const found = measurements.find((measurement) => measurement.name === name);
  if (found === undefined) throw new RangeError(`nothing was measured as ${name}`);
  return found;
}

/** A sentence that explains the interval of a pair. */
export function verdictOf({
  base,
  head,
  meanDelta,
  interval,
  overhead,
}: Pick<Pair, "base" | "head" | "meanDelta" | "interval" | "overhead">): string {
  const [low, high] = [formatTime(interval.low), formatTime(interval.high)];
  const confidence = `${(100 * interval.confidence).toFixed(0)} %`;
  if (interval.low <= 0 && interval.high >= 0) {
    return `the ${confidence} interval, ${low} to ${high}, includes zero: no measurable difference`;
  }
  const [slower, faster] = meanDelta > 0 ? [head, base] : [base, head];
  const share = `${(100 * Math.abs(meanDelta > 0 ? overhead : 1 / (1 + overhead) - 1)).toFixed(1)} %`;
  const by = formatTime(Math.abs(meanDelta));
  return `${slower} is slower than ${faster} by ${by} on average, or ${share} (${confidence} interval of the difference: ${low} to ${high})`;
}

/** The result of a suite that was skipped or failed. */
export function emptyResult(
  { name, title }: Suite,
  { status, reason }: { readonly status: "skipped" | "failed"; readonly reason: string },
  seconds: number = 0,
): SuiteResult {
  return {
    suite: name,
    title,
    status,
    reason,
    seconds,
    measurements: [],
    pairs: [],
    targets: [],
    notes: [],
  };
}
