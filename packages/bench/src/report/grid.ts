import { mean } from "../statistics/describe.ts";
import type { Counter, Measurement, Pair, SuiteResult, Target, Verdict } from "./report.ts";
import {
  formatBound,
  formatBytes,
  formatChange,
  formatDelta,
  formatExact,
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

const optional = <T>(value: T | undefined, show: (value: T) => string): string =>
  value === undefined ? "" : show(value);

/** With fewer samples, the 99th percentile is the slowest sample. */
const TAIL_SAMPLES = 30;

/** The columns that a terminal has room for. */
const BRIEF = new Set(["measurement", "median", "± 95 %", "p95", "rate", "CPU", "peak"]);

/**
 * One row per measurement: median, spread, tail, rate and resources.
 *
 * @param brief only the columns for a terminal
 */
export function measurementGrid({ measurements, pairs }: SuiteResult, brief = false): Grid {
  const columns: readonly Column<Measurement>[] = [
    { title: "measurement", words: true, cell: ({ name }) => name },
    { title: "n", cell: ({ samples }) => formatExact(samples.length, "count") },
    { title: "median", cell: ({ distribution }) => formatTime(distribution.p50) },
    {
      title: "± 95 %",
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
      cell: ({ distribution }) => (pairs.length > 0 ? formatTime(distribution.mean) : ""),
    },
    { title: "rate", cell: (measurement) => optional(rateOf(measurement), formatRate) },
    // The mean, because CPU time advances in steps that may be longer than an operation.
    {
      title: "CPU",
      cell: ({ cpuSamples }) => optional(cpuSamples, (samples) => formatTime(mean(samples))),
    },
    { title: "peak", cell: ({ peakRss }) => optional(peakRss, formatBytes) },
    { title: "heap", cell: ({ heap }) => optional(heap, formatBytes) },
  ];
  return grid(
    measurements,
    columns.filter(({ title }) => !brief || BRIEF.has(title)),
  );
}

/** Bytes of content per second at the median, if the operation moves any. */
export function rateOf({ bytesPerOperation, distribution }: Measurement): number | undefined {
  const { p50 } = distribution;
  return bytesPerOperation && p50 > 0 ? bytesPerOperation / p50 : undefined;
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
    { title: "target", words: true, cell: ({ name }) => name },
    { title: "verdict", words: true, cell: ({ verdict }) => outcome(verdict) },
    { title: "value", cell: formatValue },
    { title: "interval", words: true, cell: formatInterval },
    { title: "bound", words: true, cell: formatBound },
    {
      title: "goal",
      cell: ({ goal, unit }) => optional(goal, (value) => formatQuantity(value, unit)),
    },
    { title: "suite", words: true, cell: ({ suite = "" }) => suite },
  ]);
}

/** One row per counter. */
export function counterGrid(counters: readonly Counter[]): Grid {
  return grid<Counter>(counters, [
    { title: "counter", words: true, cell: ({ name }) => name },
    { title: "value", cell: ({ value, unit }) => formatExact(value, unit) },
  ]);
}
