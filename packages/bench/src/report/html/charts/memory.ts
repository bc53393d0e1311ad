import type { Measurement } from "../../report.ts";
import { formatBytes, formatTime } from "../../units.ts";
import type { Html } from "../html.ts";
import { figure, table } from "../table.ts";
import { tickBytes, tickTime } from "../tick-units.ts";
import { lineChart } from "./lines.ts";
import { seriesStyles } from "./palette.ts";

const MIB = 2 ** 20;

/** More points than pixels only make the page larger. */
const MOST_POINTS = 160;
/** More lines could not be told apart. */
const MOST_LINES = 10;

/** Resident memory over time, or undefined if no measurement recorded it. */
export function memoryOverTime(measurements: readonly Measurement[]): Html | undefined {
  const recorded = measurements.flatMap(({ name, memory, peakRss }) =>
    memory === undefined || memory.length < 2 ? [] : [{ name, memory, peakRss }],
  );
  if (recorded.length === 0) return undefined;
  const title = "Memory over time";
  const drawn = recorded
    .toSorted((a, b) => b.memory.at(-1)!.at - a.memory.at(-1)!.at)
    .slice(0, MOST_LINES);
  const points = drawn.flatMap(({ name, memory }) =>
    thinned(memory).map(({ at, rss }) => ({ series: name, x: at, y: rss })),
  );
  const rows = recorded.map(({ name, memory, peakRss }) => {
    const rss = memory.map(({ rss }) => rss);
    const [first, last] = [rss[0]!, rss.at(-1)!];
    const cells = [first, last, Math.min(...rss), Math.max(...rss)].map(formatBytes);
    const seconds = formatTime(memory.at(-1)!.at);
    return [name, seconds, ...cells, peakRss === undefined ? "–" : formatBytes(peakRss)];
  });
  return figure(
    title,
    `Resident memory of the process during the measurement.${drawn.length < recorded.length ? ` The ${drawn.length} longest are drawn; the table has all.` : ""}`,
    lineChart({
      label: title,
      points,
      styles: seriesStyles(drawn.map(({ name }) => name)),
      along: "since the start of the measurement",
      kind: "time",
      formatX: tickTime,
      formatY: tickBytes,
      unitY: MIB,
    }),
    table(
      title,
      ["Measurement", "Duration", "First", "Last", "Least", "Most", "Peak of the process"],
      rows,
    ),
  );
}

function thinned<T>(points: readonly T[]): T[] {
  const stride = Math.max(1, (points.length - 1) / (MOST_POINTS - 1));
  const kept = Math.min(points.length, MOST_POINTS);
  return Array.from({ length: kept }, (_, i) => points[Math.round(i * stride)]!);
}
