import { calibratedCost } from "./calibrated.ts";
import type { Calibration, Measurement, Pair, SuiteResult, Target } from "./report.ts";
import {
  formatBound,
  formatBytes,
  formatChange,
  formatDelta,
  formatInterval,
  formatRate,
  formatSpread,
  formatTime,
  formatValue,
} from "./units.ts";

/** A table as texts, whatever it is drawn with. */
export interface Grid {
  readonly head: readonly string[];
  /** The first column is the name; all others are figures, but where they are words. */
  readonly align: readonly ("left" | "right")[];
  readonly rows: readonly (readonly string[])[];
}

interface Column<Item> {
  readonly title: string;
  readonly words?: boolean;
  /** Empty where the item has no such figure. A column without any is left out. */
  cell(item: Item): string;
}

function grid<Item>(items: readonly Item[], columns: readonly Column<Item>[]): Grid {
  const filled = columns
    .map((column) => ({ ...column, cells: items.map((item) => column.cell(item)) }))
    .filter(({ cells }) => cells.some((cell) => cell !== ""));
  return {
    head: filled.map(({ title }) => title),
    align: filled.map(({ words }) => (words ? "left" : "right")),
    rows: items.map((_, row) => filled.map(({ cells }) => cells[row]!)),
  };
}

function optional<T>(value: T | undefined, show: (value: T) => string): string {
  return value === undefined ? "" : show(value);
}

/** Of fewer, the 99th percentile is the slowest one. */
const TAIL_SAMPLES = 30;

/** What the last column of `measurementGrid` means. */
export const BOUND_LEGEND =
  "× bound: the median as a multiple of sealing and hashing the same bytes on one thread here";

/** A line for each measurement: median, spread, tail, rate, price. */
export function measurementGrid(
  { measurements, pairs }: SuiteResult,
  calibration: Calibration,
): Grid {
  return grid<Measurement>(measurements, [
    { title: "measurement", words: true, cell: ({ name }) => name },
    { title: "n", cell: ({ samples }) => sampleCount(samples.length) },
    { title: "median", cell: ({ distribution }) => formatTime(distribution.p50) },
    {
      title: confidenceTitle(measurements),
      // Of one, chance cannot be told.
      cell: ({ samples, distribution: { p50, interval } }) =>
        samples.length > 1 ? formatSpread(p50, interval) : "",
    },
    { title: "p95", cell: ({ distribution }) => formatTime(distribution.p95) },
    {
      title: "p99",
      cell: ({ samples, distribution }) =>
        samples.length >= TAIL_SAMPLES ? formatTime(distribution.p99) : "",
    },
    // What pairs are about: their deltas are those of means.
    {
      title: "mean",
      cell: ({ distribution: { mean } }) => (pairs.length > 0 ? formatTime(mean) : ""),
    },
    {
      title: "rate",
      cell: ({ bytesPerOperation: bytes, distribution: { p50 } }) =>
        bytes && p50 > 0 ? formatRate(bytes / p50) : "",
    },
    { title: "CPU", cell: ({ cpuSeconds }) => optional(cpuSeconds, formatTime) },
    { title: "peak RSS", cell: ({ peakRss }) => optional(peakRss, formatBytes) },
    { title: "requests", cell: ({ requests }) => optional(requests, String) },
    { title: "sent", cell: ({ bytesSent }) => optional(bytesSent, formatBytes) },
    { title: "received", cell: ({ bytesReceived }) => optional(bytesReceived, formatBytes) },
    {
      title: "× bound",
      cell: (measurement) =>
        measurement.bytesPerOperation
          ? calibratedCost(measurement.distribution.p50, measurement, calibration).toFixed(2)
          : "",
    },
  ]);
}

/** Of more, a report holds every other one. */
function sampleCount(length: number): string {
  return `${length.toLocaleString("en-US")}${length >= 10_000 ? "+" : ""}`;
}

function confidenceTitle(measurements: readonly Measurement[]): string {
  const { confidence = 0.95 } = measurements[0]?.distribution.interval ?? {};
  return `${Number((confidence * 100).toFixed(1))} % interval`;
}

/** A line for each pair: what lies between its two. What that says is a sentence, and no column. */
export function pairGrid(pairs: readonly Pair[]): Grid {
  return grid<Pair>(pairs, [
    { title: "pair", words: true, cell: ({ name }) => name },
    { title: "pairs", cell: ({ deltas }) => String(deltas.length) },
    { title: "mean delta", cell: ({ meanDelta }) => formatDelta(meanDelta) },
    {
      title: "interval",
      cell: ({ interval }) => `${formatDelta(interval.low)} to ${formatDelta(interval.high)}`,
    },
    { title: "overhead", cell: ({ overhead }) => formatChange(overhead) },
  ]);
}

export interface SuiteTarget extends Target {
  readonly suite: string;
}

export function targetsOf(suites: readonly SuiteResult[]): SuiteTarget[] {
  return suites.flatMap(({ suite, targets }) => targets.map((target) => ({ ...target, suite })));
}

/** @param outcome how met and missed are said */
export function targetGrid(
  targets: readonly (Target & { readonly suite?: string })[],
  outcome: (met: boolean) => string,
): Grid {
  return grid<Target & { readonly suite?: string }>(targets, [
    { title: "suite", words: true, cell: ({ suite }) => suite ?? "" },
    { title: "target", words: true, cell: ({ name }) => name },
    { title: "value", cell: formatValue },
    { title: "bound", words: true, cell: formatBound },
    { title: "outcome", words: true, cell: ({ met }) => outcome(met) },
    { title: "interval", words: true, cell: formatInterval },
  ]);
}
