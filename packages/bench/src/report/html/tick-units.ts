/*
 * Formats of axis ticks, which are round values and need few digits. Tables and texts use
 * report/units.ts.
 */

/** 0.002 → "2 ms"; differences keep their sign. */
export function tickTime(seconds: number): string {
  return scaled(seconds, [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "µs"],
    [1e-9, "ns"],
  ]);
}

/** Memory, in powers of two: "8 MiB". */
export function tickBytes(bytes: number): string {
  return scaled(bytes, [
    [2 ** 40, "TiB"],
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
    [1, "B"],
  ]);
}

/** The size of a content: in powers of ten if it is round in those, such as 25.1 MB. */
export function tickSize(bytes: number): string {
  if (bytes % 100 !== 0 || bytes < 1000 || bytes % 1024 === 0) return tickBytes(bytes);
  return scaled(bytes, [
    [1e12, "TB"],
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "KB"],
  ]);
}

/** "100 MB/s", in powers of ten as usual for rates. */
export function tickRate(bytesPerSecond: number): string {
  return scaled(bytesPerSecond, [
    [1e9, "GB/s"],
    [1e6, "MB/s"],
    [1e3, "KB/s"],
    [1, "B/s"],
  ]);
}

export function tickCount(count: number): string {
  return digits(count);
}

/** 0.05 → "+5 %" */
export function tickChange(share: number): string {
  return `${share > 0 ? "+" : ""}${digits(share * 100)} %`;
}

/** 0.95 → "95 %" */
export function formatShare(share: number): string {
  return `${digits(share * 100)} %`;
}

function scaled(value: number, units: readonly (readonly [number, string])[]): string {
  if (value === 0) return "0";
  // A value that rounds up to the next unit is written in that unit.
  const [size, unit] = units.find(([size]) => Math.abs(value) >= size * 0.9995) ?? units.at(-1)!;
  return `${digits(value / size)} ${unit}`;
}

/** Up to three significant digits, thousands in full, with a minus sign and not a hyphen. */
function digits(value: number): string {
  const options =
    Math.abs(value) < 1000 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 };
  return value.toLocaleString("en-US", options).replace("-", "−");
}
