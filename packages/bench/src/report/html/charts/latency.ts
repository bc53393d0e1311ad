import { type Markish, areaY, dot, ruleX, ruleY } from "@observablehq/plot";
import type { Measurement } from "../../report.ts";
import { formatBytes, formatRate, formatTime } from "../../units.ts";
import type { Html } from "../html.ts";
import { chart } from "../plot.ts";
import { figure, table } from "../table.ts";
import { tickCount, tickTime } from "../tick-units.ts";
import { type Axis, along, linearAxis, logTicks } from "./axis.ts";
import type { SeriesStyles } from "./palette.ts";
import { type RowPositions, drawRows } from "./rows.ts";

/** Fewer samples are drawn as dots, more as an area of their shares in each bin. */
const FEW = 24;
const BINS = 48;

/** The distribution of times of single operations, with median and tail. */
export function latency(measurements: readonly Measurement[], styles: SeriesStyles): Html {
  const rows = measurements.map(({ name, distribution: { p50, p99 } }) => ({
    name,
    detail: `${formatTime(p50)}, 99 % within ${formatTime(p99)}`,
  }));
  const drawing = chart(
    "Distribution of the time of single operations, one row per measurement",
    (width) =>
      drawRows(
        {
          rows,
          axis: (pixels) => axisOf(measurements, pixels),
          along: "time of one operation",
          format: tickTime,
          rowHeight: rows.length > 16 ? 24 : 34,
          marks: (positions, axis) =>
            measurements.flatMap((one, i) =>
              row(one, i, positions, axis, styles.get(one.series)!.color),
            ),
        },
        width,
      ),
  );
  return figure(
    "Time of single operations",
    "Each row is one measurement. Its shape shows how often an operation took that long; with few samples, each is a dot. The tall line is the median, with its interval at the bottom; the short lines are the 95th and 99th percentiles.",
    drawing,
    measurementTable(measurements),
  );
}

function axisOf(measurements: readonly Measurement[], pixels: number): Axis {
  const times = measurements.flatMap(({ distribution: d }) => [d.least, d.p50, d.p99]);
  const [low, high] = [Math.min(...times.filter((time) => time > 0)), Math.max(...times)];
  if (!(high / low > 8)) return linearAxis(0, high * 1.05, pixels / 80);
  const domain = [low / 1.1, high * 1.15] as const;
  return { type: "log", domain, ticks: logTicks(domain, pixels / 60) };
}

function row(
  { samples, distribution: { p50, p95, p99, interval }, name }: Measurement,
  i: number,
  positions: RowPositions,
  axis: Axis,
  color: string,
): Markish[] {
  const [top, bottom] = [positions.top(i), positions.bottom(i)];
  const seen = samples.filter((time) => time >= axis.domain[0] && time <= axis.domain[1]);
  const shape =
    seen.length < FEW
      ? dot(seen, {
          x: (time: number) => time,
          y: positions.middle(i),
          r: 3,
          fill: color,
          fillOpacity: 0.55,
        })
      : areaY(bins(seen, axis), {
          x: "x",
          y1: bottom,
          y2: ({ share }: Bin) => bottom - share * (bottom - top),
          fill: color,
          fillOpacity: 0.38,
          curve: "monotone-x",
        });
  const at = (share: number) => bottom - (bottom - top) * share;
  const title = () => `${name}: median ${formatTime(p50)}`;
  return [
    ruleY([bottom], { stroke: "var(--grid)" }),
    shape,
    ruleX([p95, p99], { y1: bottom, y2: at(0.45), stroke: "var(--ink)", strokeWidth: 1.25 }),
    ruleY([interval], { y: bottom, x1: "low", x2: "high", stroke: color, strokeWidth: 4 }),
    ruleX([p50], { y1: bottom, y2: at(1), stroke: "var(--ink)", strokeWidth: 2.25, title }),
  ];
}

interface Bin {
  readonly x: number;
  /** Relative to the fullest bin. */
  readonly share: number;
}

/** Bins of equal width on the axis, with an empty one at each end so that the shape returns to zero. */
function bins(samples: readonly number[], axis: Axis): Bin[] {
  const counts = Array.from({ length: BINS }, () => 0);
  for (const sample of samples) {
    counts[Math.min(BINS - 1, Math.floor(along(axis, sample) * BINS))]! += 1;
  }
  const most = Math.max(...counts);
  const filled = counts.flatMap((count, i) => (count > 0 ? [i] : []));
  const [first, last] = [filled[0]!, filled.at(-1)!];
  const found: Bin[] = [];
  for (let i = first - 1; i <= last + 1; i++) {
    const middle = Math.min(1, Math.max(0, (i + 0.5) / BINS));
    found.push({ x: valueAt(axis, middle), share: (counts[i] ?? 0) / most });
  }
  return found;
}

/** The value at a position on the axis, 0 to 1. */
function valueAt({ type, domain: [low, high] }: Axis, share: number): number {
  return type === "log" ? low * (high / low) ** share : low + (high - low) * share;
}

interface Column {
  readonly head: string;
  readonly cell: (measurement: Measurement) => string | undefined;
}

const amount = (value: number | undefined, format: (value: number) => string) =>
  value === undefined ? undefined : format(value);

const COLUMNS: readonly Column[] = [
  { head: "Samples", cell: ({ samples }) => tickCount(samples.length) },
  { head: "Median", cell: ({ distribution }) => formatTime(distribution.p50) },
  { head: "from", cell: ({ distribution }) => formatTime(distribution.interval.low) },
  { head: "to", cell: ({ distribution }) => formatTime(distribution.interval.high) },
  { head: "Mean", cell: ({ distribution }) => formatTime(distribution.mean) },
  { head: "Least", cell: ({ distribution }) => formatTime(distribution.least) },
  { head: "95 %", cell: ({ distribution }) => formatTime(distribution.p95) },
  { head: "99 %", cell: ({ distribution }) => formatTime(distribution.p99) },
  { head: "Most", cell: ({ distribution }) => formatTime(distribution.most) },
  {
    head: "Throughput",
    cell: ({ bytesPerOperation, distribution }) =>
      amount(bytesPerOperation, (bytes) => formatRate(bytes / distribution.p50)),
  },
  { head: "CPU", cell: ({ cpuSeconds }) => amount(cpuSeconds, formatTime) },
  { head: "Peak memory", cell: ({ peakRss }) => amount(peakRss, formatBytes) },
  { head: "Requests", cell: ({ requests }) => amount(requests, tickCount) },
  { head: "Bytes sent", cell: ({ bytesSent }) => amount(bytesSent, tickCount) },
  { head: "Bytes received", cell: ({ bytesReceived }) => amount(bytesReceived, tickCount) },
];

/** All values of the measurements, without columns that are empty for all of them. */
function measurementTable(measurements: readonly Measurement[]): Html {
  const columns = COLUMNS.filter(({ cell }) => measurements.some((one) => cell(one) !== undefined));
  return table(
    "Measurements; times, CPU times and counts are per operation",
    ["Measurement", ...columns.map(({ head }) => head)],
    measurements.map((one) => [one.name, ...columns.map(({ cell }) => cell(one) ?? "–")]),
  );
}
