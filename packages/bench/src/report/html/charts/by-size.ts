import type { Measurement } from "../../report.ts";
import { formatBytes, formatRate, formatTime } from "../../units.ts";
import type { Html } from "../html.ts";
import { figure, table } from "../table.ts";
import { formatShare, tickBytes, tickCount, tickRate, tickSize, tickTime } from "../tick-units.ts";
import { type LinePoint, lineChart } from "./lines.ts";
import type { SeriesStyles } from "./palette.ts";

type Unit = NonNullable<Measurement["x"]>["unit"];

const ALONG: Record<Unit, string> = {
  bytes: "size of one operation",
  recipients: "recipients",
  files: "files",
};

/** Charts of measurements at several sizes or counts: throughput or time, and peak memory. */
export function bySize(measurements: readonly Measurement[], styles: SeriesStyles): Html[] {
  const units = [...new Set(measurements.flatMap(({ x }) => (x === undefined ? [] : [x.unit])))];
  return units.flatMap((unit) => {
    const measured = ofSeveral(measurements.filter(isDrawable).filter(({ x }) => x?.unit === unit));
    const rates = measured.filter(({ bytesPerOperation }) => bytesPerOperation !== undefined);
    const times = measured.filter(({ bytesPerOperation }) => bytesPerOperation === undefined);
    const memory = ofSeveral(measured.filter(({ peakRss }) => peakRss !== undefined));
    const figures: Html[] = [];
    if (rates.length > 0) figures.push(throughput(rates, unit, styles));
    if (times.length > 0) figures.push(time(times, unit, styles));
    if (memory.length > 0) figures.push(peakMemory(memory, unit, styles));
    return figures;
  });
}

/** Logarithmic axes cannot show zero, and a time of zero has no rate. */
function isDrawable({ x, distribution: { p50, interval } }: Measurement): boolean {
  return x !== undefined && x.value > 0 && p50 > 0 && interval.low > 0;
}

/** Only the series with more than one position on the axis, which form a line. */
function ofSeveral(measurements: readonly Measurement[]): Measurement[] {
  return measurements.filter(
    (one) =>
      measurements.filter(({ series, x }) => series === one.series && x?.value !== one.x?.value)
        .length > 0,
  );
}

function throughput(measurements: readonly Measurement[], unit: Unit, styles: SeriesStyles): Html {
  const points = measurements.map((measurement): LinePoint => {
    const bytes = measurement.bytesPerOperation ?? 0;
    const { p50, interval } = measurement.distribution;
    // More time is less throughput, so the ends are swapped.
    return {
      ...at(measurement),
      y: bytes / p50,
      low: bytes / interval.high,
      high: bytes / interval.low,
    };
  });
  return figure(
    `Throughput by ${noun(unit)}`,
    `Content per second at the median time; higher is better. ${bars(measurements)}`,
    chartOf(points, unit, styles, tickRate, `Throughput by ${noun(unit)}`),
    table(
      `Throughput by ${noun(unit)}`,
      ["Series", capital(noun(unit)), "Throughput", "from", "to"],
      points.map(({ series, x, y, low, high }) => [
        series,
        formatX(unit)(x),
        formatRate(y),
        formatRate(low ?? y),
        formatRate(high ?? y),
      ]),
    ),
  );
}

function time(measurements: readonly Measurement[], unit: Unit, styles: SeriesStyles): Html {
  const points = measurements.map((measurement): LinePoint => {
    const { p50, interval } = measurement.distribution;
    return { ...at(measurement), y: p50, low: interval.low, high: interval.high };
  });
  return figure(
    `Time by ${noun(unit)}`,
    `Median time of one operation; lower is better. ${bars(measurements)}`,
    chartOf(points, unit, styles, tickTime, `Time by ${noun(unit)}`),
    table(
      `Time by ${noun(unit)}`,
      ["Series", capital(noun(unit)), "Median", "from", "to"],
      points.map(({ series, x, y, low, high }) => [
        series,
        formatX(unit)(x),
        formatTime(y),
        formatTime(low ?? y),
        formatTime(high ?? y),
      ]),
    ),
  );
}

function peakMemory(measurements: readonly Measurement[], unit: Unit, styles: SeriesStyles): Html {
  const points = measurements.map((one): LinePoint => ({ ...at(one), y: one.peakRss ?? 0 }));
  return figure(
    `Peak memory by ${noun(unit)}`,
    "Peak resident memory of the process during the measurement; on a flat line, memory does not depend on the amount of data.",
    chartOf(points, unit, styles, tickBytes, `Peak memory by ${noun(unit)}`),
    table(
      `Peak memory by ${noun(unit)}`,
      ["Series", capital(noun(unit)), "Peak memory"],
      points.map(({ series, x, y }) => [series, formatX(unit)(x), formatBytes(y)]),
    ),
  );
}

function chartOf(
  points: readonly LinePoint[],
  unit: Unit,
  styles: SeriesStyles,
  formatY: (y: number) => string,
  label: string,
): Html {
  return lineChart({
    unitY: formatY === tickBytes ? 2 ** 20 : 1,
    label,
    points,
    styles,
    along: ALONG[unit],
    kind: "steps",
    formatX: formatX(unit),
    formatY,
  });
}

function at({ series, x }: Measurement): Pick<LinePoint, "series" | "x"> {
  return { series, x: x?.value ?? 0 };
}

function bars(measurements: readonly Measurement[]): string {
  const confidence = measurements[0]?.distribution.interval.confidence ?? 0.95;
  return `The bars are the ${formatShare(confidence)} interval of the median.`;
}

function formatX(unit: Unit): (x: number) => string {
  return unit === "bytes" ? tickSize : tickCount;
}

function noun(unit: Unit): string {
  return unit === "bytes" ? "size" : unit;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
