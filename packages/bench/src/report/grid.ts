import { calibratedCost } from "./calibrated.ts";
import { mean } from "../statistics/describe.ts";
import type {
  Calibration,
  Counter,
  Measurement,
  Pair,
  SuiteResult,
  Target,
  Verdict,
} from "./report.ts";
import {
  formatBound,
  formatBytes,
  formatChange,
  formatDelta,
  formatInterval,
  formatQuantity,
  formatRate,
  formatSpread,
  formatTime,
  formatValue,
} from "./units.ts";

/** The texts of a table, independent of how it is drawn. */
export interface Grid {
  readonly head: readonly string[];
  /** Numbers are aligned right, words left. The first column has the names. */
  readonly align: readonly ("left" | "right")[];
  readonly rows: readonly (readonly string[])[];
}

interface Column<Item> {
  readonly title: string;
  readonly words?: boolean;
  /** Empty if the item has no such value. A column with only empty cells is omitted. */
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

/** With fewer samples, the 99th percentile is the slowest sample. */
const TAIL_SAMPLES = 30;

/** Explains the last column of `measurementGrids`. */
export const BOUND_LEGEND =
  "× bound: the median relative to sealing and hashing the same bytes on one thread of this machine";

/** The tables of a suite: one row per measurement, with its median, spread, tail, rate and resources. */
export function measurementGrids(
  { measurements, pairs }: SuiteResult,
  calibration: Calibration,
): Grid[] {
  const titleOf = ({ table = "measurement" }: Measurement): string => table;
  return [...new Set(measurements.map(titleOf))].map((title) => {
    const own = measurements.filter((measurement) => titleOf(measurement) === title);
    return measurementGrid(title, own, calibration, pairs.length > 0);
  });
}

/** @param means whether the table has a column for them */
function measurementGrid(
  title: string,
  measurements: readonly Measurement[],
  calibration: Calibration,
  means: boolean,
): Grid {
  return grid<Measurement>(measurements, [
    { title, words: true, cell: ({ name }) => name },
    { title: "n", cell: ({ samples }) => sampleCount(samples.length) },
    { title: "median", cell: ({ distribution }) => formatTime(distribution.p50) },
    {
      title: confidenceTitle(measurements),
      // One sample has no spread.
      cell: ({ samples, distribution: { p50, interval } }) =>
        samples.length > 1 ? formatSpread(p50, interval) : "",
    },
    { title: "p95", cell: ({ distribution }) => formatTime(distribution.p95) },
    {
      title: "p99",
      cell: ({ samples, distribution }) =>
        samples.length >= TAIL_SAMPLES ? formatTime(distribution.p99) : "",
    },
    // The deltas of pairs are differences of means.
    {
      title: "mean",
      cell: ({ distribution: { mean } }) => (means ? formatTime(mean) : ""),
    },
    {
      title: "rate",
      cell: ({ bytesPerOperation: bytes, distribution: { p50 } }) =>
        bytes && p50 > 0 ? formatRate(bytes / p50) : "",
    },
    // The mean, because CPU time advances in steps that may be longer than an operation.
    {
      title: "CPU",
      cell: ({ cpuSamples }) => optional(cpuSamples, (samples) => formatTime(mean(samples))),
    },
    { title: "peak RSS", cell: ({ peakRss }) => optional(peakRss, formatBytes) },
    { title: "heap", cell: ({ heap }) => optional(heap, formatBytes) },
    {
      title: "× bound",
      cell: (measurement) =>
        measurement.bytesPerOperation
          ? calibratedCost(measurement.distribution.p50, measurement, calibration).toFixed(2)
          : "",
    },
  ]);
}

/** A report holds at most 10,000 samples: "+" says that there were more. */
function sampleCount(length: number): string {
  return `${length.toLocaleString("en-US")}${length >= 10_000 ? "+" : ""}`;
}

function confidenceTitle(measurements: readonly Measurement[]): string {
  const { confidence = 0.95 } = measurements[0]?.distribution.interval ?? {};
  return `${Number((confidence * 100).toFixed(1))} % interval`;
}

/** One row per pair: the difference between base and head. Verdicts are sentences and follow the table. */
export function pairGrid(pairs: readonly Pair[]): Grid {
  return grid<Pair>(pairs, [
    { title: "pair", words: true, cell: ({ name }) => name },
    { title: "pairs", cell: ({ deltas }) => String(deltas.length) },
    { title: "mean difference", cell: ({ meanDelta }) => formatDelta(meanDelta) },
    {
      title: "interval",
      cell: ({ interval }) => `${formatDelta(interval.low)} to ${formatDelta(interval.high)}`,
    },
    { title: "overhead", cell: ({ overhead }) => formatChange(overhead) },
  ]);
}

/** @param outcome formats a verdict */
export function targetGrid(
  targets: readonly (Target & { readonly suite?: string })[],
  outcome: (verdict: Verdict) => string,
): Grid {
  return grid<Target & { readonly suite?: string }>(targets, [
    { title: "suite", words: true, cell: ({ suite }) => suite ?? "" },
    { title: "target", words: true, cell: ({ name }) => name },
    { title: "value", cell: formatValue },
    { title: "bound", words: true, cell: formatBound },
    { title: "outcome", words: true, cell: ({ verdict }) => outcome(verdict) },
    { title: "interval", words: true, cell: formatInterval },
  ]);
}

/** One row per counter. */
export function counterGrid(counters: readonly Counter[]): Grid {
  return grid<Counter>(counters, [
    { title: "counter", words: true, cell: ({ name }) => name },
    { title: "value", cell: ({ value, unit }) => formatQuantity(value, unit) },
  ]);
}
