import { formatBytes, formatRate, formatTime } from "../units.ts";
import { tickCount } from "./tick-units.ts";
import type { Html } from "./html.ts";
import type { Measurement } from "../report.ts";
import { table } from "./table.ts";

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

/** Everything that was measured, without the columns that no measurement of the suite has. */
export function measurementTable(measurements: readonly Measurement[]): Html {
  const columns = COLUMNS.filter(({ cell }) => measurements.some((one) => cell(one) !== undefined));
  return table(
    "Measurements; times, CPU time and counts are of one operation",
    ["Measurement", ...columns.map(({ head }) => head)],
    measurements.map((one) => [one.name, ...columns.map(({ cell }) => cell(one) ?? "–")]),
  );
}
