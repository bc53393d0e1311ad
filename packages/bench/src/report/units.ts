import type { Interval, Target } from "./report.ts";

/** Three significant digits, or all of an integer part: 0.00123, 1.23, 123, 1,234. */
function digits(value: number): string {
  if (value < 0) return `−${digits(-value)}`;
  if (value >= 1000) return Math.round(value).toLocaleString("en-US");
  const fraction = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value === 0 || value >= 0.01 ? value.toFixed(fraction) : value.toPrecision(3);
}

function scaled(value: number, units: readonly (readonly [number, string])[]): string {
  const size = Math.abs(value);
  const [factor, unit] = units.find(([factor]) => size >= factor * 0.9995) ?? units.at(-1)!;
  return `${digits(value / factor)} ${unit}`;
}

const TIMES = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
] as const;

/** Formats seconds: `2.31 ms`. */
export function formatTime(seconds: number): string {
  return seconds === 0 ? "0 s" : scaled(seconds, TIMES);
}

/** Formats a difference in seconds: `+1.20 ms`, `−3.00 µs`. */
export function formatDelta(seconds: number): string {
  return `${seconds < 0 ? "−" : "+"}${formatTime(Math.abs(seconds))}`;
}

/** Formats a rate: `454 MB/s`, of 1,000,000 bytes. */
export function formatRate(bytesPerSecond: number): string {
  return `${digits(bytesPerSecond / 1e6)} MB/s`;
}

const MEMORY = [
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
  [1, "B"],
] as const;

/** Formats bytes in powers of 1024: `81.3 MiB`. */
export function formatBytes(bytes: number): string {
  return bytes < 1024 ? `${Math.round(bytes)} B` : scaled(bytes, MEMORY);
}

/** Formats a relative change: `+4.3 %` for 0.043. */
export function formatChange(share: number): string {
  return `${share < 0 ? "−" : "+"}${(Math.abs(share) * 100).toFixed(1)} %`;
}

/** `± 1.2 %`: the distance from the value to the farther end of the interval. Empty for 0. */
export function formatSpread(value: number, { low, high }: Interval): string {
  if (value === 0) return "";
  return `± ${((Math.max(high - value, value - low) / Math.abs(value)) * 100).toFixed(1)} %`;
}

export function formatQuantity(value: number, unit: Target["unit"]): string {
  switch (unit) {
    case "seconds":
      return formatTime(value);
    case "bytes/s":
      return formatRate(value);
    case "files/s":
      return `${digits(value)} files/s`;
    case "bytes":
      return formatBytes(value);
    case "ratio":
      return digits(value);
    case "exponent":
      return `${value <= -0.005 ? "−" : ""}${Math.abs(value).toFixed(2)}`;
    case "count":
      return value.toLocaleString("en-US");
    default:
      return unit satisfies never;
  }
}

/** The value, with more digits if it misses its bound but would round to it. */
export function formatValue({ value, unit, least, most, verdict }: Target): string {
  const text = formatQuantity(value, unit);
  const bounds = [least, most].flatMap((bound) => bound ?? []);
  const unclear =
    verdict === "missed" && bounds.some((bound) => formatQuantity(bound, unit) === text);
  return unclear && (unit === "ratio" || unit === "exponent") ? value.toPrecision(5) : text;
}

/** `0.86 to 0.93`; empty without an interval. */
export function formatInterval({ unit, interval }: Target): string {
  if (interval === undefined) return "";
  return `${formatQuantity(interval.low, unit)} to ${formatQuantity(interval.high, unit)}`;
}

/** `at least 100 MB/s`, `at most 1.10`, `1.00 to 3.00`. */
export function formatBound({ unit, least, most }: Target): string {
  const show = (value: number): string => formatQuantity(value, unit);
  if (least !== undefined && most !== undefined) return `${show(least)} to ${show(most)}`;
  if (least !== undefined) return `at least ${show(least)}`;
  return most === undefined ? "" : `at most ${show(most)}`;
}

/** `1 suite`, `2 suites`. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}
