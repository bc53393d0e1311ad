/** Measured values as short texts. */
import type { Interval, Target, Unit } from "./report.ts";

/** Three significant digits, or all of an integer part: 0.00123, 1.23, 123, 1,234. */
function digits(value: number): string {
  if (value < 0) return `−${digits(-value)}`;
  if (value >= 1000) return Math.round(value).toLocaleString("en-US");
  const fraction = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value === 0 || value >= 0.01 ? value.toFixed(fraction) : value.toPrecision(3);
}

/** @param factors of units, the largest first */
function scaled(value: number, factors: Readonly<Record<string, number>>): string {
  const units = Object.entries(factors);
  const [unit, factor] =
    units.find(([, factor]) => Math.abs(value) >= factor * 0.9995) ?? units.at(-1)!;
  return `${digits(value / factor)} ${unit}`;
}

const TIMES = { s: 1, ms: 1e-3, µs: 1e-6, ns: 1e-9 };

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

/** Formats a rate of a line as it is sold: `100 Mbit/s`. */
export function formatBits(bytesPerSecond: number): string {
  return `${digits((8 * bytesPerSecond) / 1e6)} Mbit/s`;
}

const MEMORY = { GiB: 2 ** 30, MiB: 2 ** 20, KiB: 2 ** 10, B: 1 };

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

const FORMATS: Readonly<Record<Unit, (value: number) => string>> = {
  seconds: formatTime,
  "bytes/s": formatRate,
  "files/s": (value) => `${digits(value)} files/s`,
  bytes: formatBytes,
  ratio: digits,
  change: formatChange,
  exponent: (value) => `${value <= -0.005 ? "−" : ""}${Math.abs(value).toFixed(2)}`,
  count: (value) => value.toLocaleString("en-US"),
};

export function formatQuantity(value: number, unit: Unit): string {
  return FORMATS[unit](value);
}

/** All digits: `1,000,040 B`. */
export function formatExact(value: number, unit: Unit): string {
  const text = value.toLocaleString("en-US", { maximumSignificantDigits: 15 });
  return unit === "bytes" ? `${text} B` : text;
}

/** The value, with more digits if it misses its bound but would round to it. */
export function formatValue({ value, unit, least, most, verdict }: Target): string {
  const text = formatQuantity(value, unit);
  const bounds = [least, most].flatMap((bound) => bound ?? []);
  const clear =
    verdict !== "missed" || bounds.every((bound) => formatQuantity(bound, unit) !== text);
  if (clear) return text;
  return unit === "ratio" || unit === "exponent" ? value.toPrecision(5) : formatExact(value, unit);
}

/** `0.86 to 0.93`, `92.1 to 99.0 MB/s`; empty without an interval. */
export function formatInterval({ unit, interval }: Target): string {
  if (interval === undefined) return "";
  const [low, high] = [interval.low, interval.high].map((end) => formatQuantity(end, unit));
  const suffix = / \S+$/u.exec(high!)?.[0] ?? "";
  return `${low!.endsWith(suffix) ? low!.slice(0, low!.length - suffix.length) : low} to ${high}`;
}

/** "1.31 (1.27 to 1.35)", or only the value if it has no interval. */
export function formatMeasured(target: Target): string {
  const interval = formatInterval(target);
  return formatValue(target) + (interval && ` (${interval})`);
}

/** `≥ 100 MB/s`, `≤ 1.10`, `1.00 to 3.00`, `= 7`. */
export function formatBound({ unit, least, most }: Target): string {
  const show = (value: number): string => formatQuantity(value, unit);
  if (least !== undefined && least === most) return `= ${formatExact(least, unit)}`;
  if (least !== undefined && most !== undefined) return `${show(least)} to ${show(most)}`;
  if (least !== undefined) return `≥ ${show(least)}`;
  return most === undefined ? "" : `≤ ${show(most)}`;
}

/** `1 suite`, `2 suites`. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}
