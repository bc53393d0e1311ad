/** The tables of a report as texts, independent of how they are drawn. */
import { mean } from "../statistics/describe.ts";
import { type ShownTarget, TONES, type Tone, targetsOf } from "./outcome.ts";
import type { Counter, Measurement, SuiteResult } from "./report.ts";
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

export interface Grid {
  readonly head: readonly string[];
  /** Numbers are aligned right, words left. The first column has the names. */
  readonly align: readonly ("left" | "right")[];
  readonly rows: readonly (readonly string[])[];
  /** The tone of each row, if the second column has verdicts. */
  readonly tones?: readonly Tone[];
}

/** The rows, with each verdict marked. */
export function markedRows(
  { rows, tones = [] }: Grid,
  mark: (tone: Tone, verdict: string) => string,
): Grid["rows"] {
  return rows.map((row, i) => (tones[i] ? row.with(1, mark(tones[i], row[1]!)) : row));
}

/** A title, and the text for an item, if it has one. A column without texts is omitted. */
type Column<Item> = readonly [
  title: string,
  text: (item: Item) => string | undefined,
  align?: "left",
];

function grid<Item>(items: readonly Item[], columns: readonly Column<Item>[]): Grid {
  const filled = columns
    .map(([title, text, align]) => ({ title, align, cells: items.map((one) => text(one) ?? "") }))
    .filter(({ cells }) => cells.some((cell) => cell !== ""));
  return {
    head: filled.map(({ title }) => title),
    align: filled.map(({ align }, i) => (i === 0 ? "left" : (align ?? "right"))),
    rows: items.map((_, row) => filled.map(({ cells }) => cells[row]!)),
  };
}

const optional = <T>(value: T | undefined, show: (value: T) => string): string | undefined =>
  value === undefined ? undefined : show(value);

/**
 * What all renderers show of a suite, besides its targets.
 *
 * @param brief only the columns for which a terminal has room
 */
export function partsOf(
  suite: SuiteResult,
  brief: boolean = false,
): { readonly grids: readonly Grid[]; readonly sentences: readonly string[] } {
  const { pairs, counters, notes } = suite;
  const grids = [...measurementGrids(suite, brief), pairGrid(suite, brief), counterGrid(counters)];
  return {
    grids: grids.filter(({ rows }) => rows.length > 0),
    sentences: [...pairs.map(({ name, verdict }) => `${name}: ${verdict}`), ...notes],
  };
}

/** With fewer samples, the 99th percentile is the slowest sample. */
const TAIL_SAMPLES = 30;

/** Median, spread, tail, rate and resources. */
const MEASURED: readonly Column<Measurement>[] = [
  ["n", ({ samples }) => formatExact(samples.length, "count")],
  ["median", ({ distribution }) => formatTime(distribution.p50)],
  [
    "± 95 %",
    // One sample has no spread.
    ({ samples, distribution: { p50, interval } }) =>
      samples.length > 1 ? formatSpread(p50, interval) : undefined,
  ],
  ["p95", ({ distribution }) => formatTime(distribution.p95)],
  [
    "p99",
    ({ samples, distribution }) =>
      samples.length >= TAIL_SAMPLES ? formatTime(distribution.p99) : undefined,
  ],
  ["mean", ({ distribution }) => formatTime(distribution.mean)],
  ["rate", (measurement) => optional(rateOf(measurement), formatRate)],
  // The mean, because CPU time advances in steps that may be longer than an operation.
  ["CPU", ({ cpuSamples }) => optional(cpuSamples, (samples) => formatTime(mean(samples)))],
  ["peak", ({ peakRss }) => optional(peakRss, formatBytes)],
  ["heap", ({ heap }) => optional(heap, formatBytes)],
];

/** A grid for each table that measurements name, in the order of the first of each. */
function measurementGrids({ measurements, pairs }: SuiteResult, brief: boolean): Grid[] {
  const hidden = new Set(brief ? ["n", "p99", "mean", "heap"] : []);
  // The deltas of pairs are differences of means; nothing else needs them.
  if (pairs.length === 0) hidden.add("mean");
  const columns = MEASURED.filter(([title]) => !hidden.has(title));
  const tableOf = ({ table = "measurement" }: Measurement): string => table;
  return [...new Set(measurements.map(tableOf))].map((title) => {
    const own = measurements.filter((measurement) => tableOf(measurement) === title);
    return grid(own, [[title, ({ name }) => name], ...columns]);
  });
}

/** Bytes of content per second at the median, if the operation moves any. */
export function rateOf({ bytesPerOperation, distribution }: Measurement): number | undefined {
  const { p50 } = distribution;
  return bytesPerOperation && p50 > 0 ? bytesPerOperation / p50 : undefined;
}

/** The differences between base and head. Verdicts are sentences and follow the tables. */
function pairGrid({ pairs, measurements }: SuiteResult, brief: boolean): Grid {
  const means = new Map(
    brief ? [] : measurements.map(({ name, distribution }) => [name, distribution.mean]),
  );
  const meanOf = (name: string) => optional(means.get(name), formatTime);
  return grid(pairs, [
    ["pair", ({ name }) => name],
    ["pairs", ({ deltas }) => String(deltas.length)],
    ["base", ({ base }) => meanOf(base)],
    ["head", ({ head }) => meanOf(head)],
    ["mean difference", ({ meanDelta }) => formatDelta(meanDelta)],
    ["interval", ({ interval: { low, high } }) => `${formatDelta(low)} to ${formatDelta(high)}`],
    ["overhead", ({ overhead }) => formatChange(overhead)],
  ]);
}

/** A row of a table of targets. */
type Outcome = ShownTarget | Skipped;
type Skipped = { readonly name: string; readonly verdict: "skipped"; readonly suite: string };

/** The targets of all suites, and after them a row for each suite that was skipped. */
export function outcomeGrid(suites: readonly SuiteResult[]): Grid {
  const skipped = suites.flatMap(({ suite, status, reason = "" }): Skipped[] =>
    status === "skipped" ? [{ name: `not measured: ${reason}`, verdict: status, suite }] : [],
  );
  return targetGrid([...targetsOf(suites), ...skipped]);
}

export function targetGrid(outcomes: readonly Outcome[]): Grid {
  const of = (show: (target: ShownTarget) => string | undefined) => (one: Outcome) =>
    one.verdict === "skipped" ? undefined : show(one);
  const drawn = grid(outcomes, [
    ["target", ({ name }) => name],
    ["verdict", ({ verdict }) => verdict, "left"],
    ["base", of(({ base }) => base)],
    ["head", of(({ head }) => head)],
    ["value", of(formatValue)],
    ["interval", of(formatInterval), "left"],
    ["bound", of(formatBound), "left"],
    ["goal", of(({ goal, unit }) => optional(goal, (value) => formatQuantity(value, unit)))],
    ["suite", ({ suite }) => suite, "left"],
  ]);
  return { ...drawn, tones: outcomes.map(({ verdict }) => TONES[verdict]) };
}

/** Counters named "put 1 MiB: PUT requests": a row for what is before the colon, a column for the rest. */
function counterGrid(counters: readonly Counter[]): Grid {
  const parts = counters.map(({ name, value }) => {
    const [operation = "", what = ""] = name.split(/: (.*)/su);
    return { operation, what, value };
  });
  const unique = (key: "operation" | "what"): string[] => [
    ...new Set(parts.map((part) => part[key])),
  ];
  return grid(unique("operation"), [
    ["operation", (operation) => operation],
    ...unique("what").map((what): Column<string> => [
      what.replace(" requests", "").replace("bytes ", ""),
      (operation) => {
        const found = parts.find((part) => part.operation === operation && part.what === what);
        return found?.value ? formatExact(found.value, "count") : undefined;
      },
    ]),
  ]);
}
