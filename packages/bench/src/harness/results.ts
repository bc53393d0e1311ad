import type { Measurement, MemoryPoint, Pair, SuiteResult } from "../report/report.ts";
import { formatTime } from "../report/units.ts";
import { bootstrapInterval, thinned } from "../statistics/bootstrap.ts";
import { distributionOf, mean } from "../statistics/describe.ts";
import { sizeName } from "./content.ts";

/** More samples would make reports too large to commit; their statistics use all. */
const SAMPLES_MOST = 1000;

/** The time and resources of one run. */
export interface Sample {
  readonly seconds: number;
  /** User and system time of all threads and processes. */
  readonly cpuSeconds?: number | undefined;
  /** Peak resident memory in bytes. */
  readonly peakRss?: number | undefined;
  /** JavaScript heap in bytes. */
  readonly heap?: number | undefined;
  /** Over time; a measurement keeps that of its last sample. */
  readonly memory?: readonly MemoryPoint[] | undefined;
}

export type Labels = Pick<Measurement, "name" | "table" | "series" | "x" | "bytesPerOperation">;

/** Labels of a series of measurements by size in bytes. */
export function labelsFor(size: number): (series: string) => Labels {
  return (series) => ({
    name: `${series} ${sizeName(size)}`,
    series,
    x: { value: size, unit: "bytes" },
    bytesPerOperation: size,
  });
}

/** @param samples in the order measured, 1 or more */
export function measurementOf(
  { name, table, series, x, bytesPerOperation }: Labels,
  samples: readonly Sample[],
): Measurement {
  const seconds = samples.map((sample) => sample.seconds);
  const column = (key: "cpuSeconds" | "peakRss" | "heap"): number[] =>
    samples.flatMap((sample) => sample[key] ?? []);
  const memory = samples.at(-1)?.memory;
  const [cpu, peaks, heaps] = [column("cpuSeconds"), column("peakRss"), column("heap")];
  return {
    name,
    ...(table !== undefined && { table }),
    series,
    ...(x && { x }),
    ...(bytesPerOperation !== undefined && { bytesPerOperation }),
    samples: thinned(seconds, SAMPLES_MOST),
    distribution: distributionOf(seconds),
    ...(cpu.length === seconds.length && { cpuSamples: thinned(cpu, SAMPLES_MOST) }),
    ...(peaks.length > 0 && { peakRss: Math.max(...peaks) }),
    ...(heaps.length > 0 && { heap: Math.max(...heaps) }),
    ...(memory && { memory }),
  };
}

/**
 * The difference of two measurements whose samples were taken in pairs, in the same order.
 *
 * @throws RangeError if they differ in the number of samples or have fewer than two
 */
export function pairOf(name: string, base: Measurement, head: Measurement): Pair {
  const deltas = head.samples.map((seconds, i) => seconds - base.samples[i]!);
  if (deltas.length < 2 || base.samples.length !== deltas.length) {
    throw new RangeError(
      `${name}: pairs need two or more samples of each, and the same number of both`,
    );
  }
  const interval = bootstrapInterval(deltas, mean);
  const meanDelta = mean(deltas);
  const overhead = mean(head.samples) / mean(base.samples) - 1;
  const pair = { base: base.name, head: head.name, meanDelta, interval, overhead };
  return { name, ...pair, deltas, verdict: describePair(pair) };
}

/** A sentence that explains the interval of a pair. */
export function describePair(pair: Omit<Pair, "name" | "deltas" | "verdict">): string {
  const { base, head, meanDelta, interval, overhead } = pair;
  const confidence = `${(100 * interval.confidence).toFixed(0)} %`;
  const range = `${formatTime(interval.low)} to ${formatTime(interval.high)}`;
  if (interval.low <= 0 && interval.high >= 0) {
    return `the ${confidence} interval, ${range}, includes zero: no measurable difference`;
  }
  const [slower, faster] = meanDelta > 0 ? [head, base] : [base, head];
  const share = 100 * Math.abs(meanDelta > 0 ? overhead : 1 / (1 + overhead) - 1);
  const by = `${formatTime(Math.abs(meanDelta))} on average, or ${share.toFixed(1)} %`;
  return `${slower} is slower than ${faster} by ${by} (${confidence} interval of the difference: ${range})`;
}

/** The results of a completed suite. Absent parts are empty. */
export type Findings = Partial<
  Pick<SuiteResult, "measurements" | "pairs" | "counters" | "targets" | "notes" | "comparison">
>;

export function together(parts: readonly Findings[]): Required<Omit<Findings, "comparison">> {
  return {
    measurements: parts.flatMap(({ measurements = [] }) => measurements),
    pairs: parts.flatMap(({ pairs = [] }) => pairs),
    counters: parts.flatMap(({ counters = [] }) => counters),
    targets: parts.flatMap(({ targets = [] }) => targets),
    notes: parts.flatMap(({ notes = [] }) => notes),
  };
}

export type Lookup = (name: string) => Measurement;

/** @throws RangeError if there is no measurement of that name */
export function lookup(measurements: readonly Measurement[]): Lookup {
  return (name) => {
    const found = measurements.find((measurement) => measurement.name === name);
    if (found === undefined) throw new RangeError(`nothing was measured as ${name}`);
    return found;
  };
}
