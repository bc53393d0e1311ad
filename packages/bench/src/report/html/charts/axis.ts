/** The scale, range and ticks of an axis. */
export interface Axis {
  readonly type: "linear" | "log";
  readonly domain: readonly [number, number];
  readonly ticks: readonly number[];
}

/** Above this ratio of the largest to the smallest value, an axis is logarithmic. */
const SPANS_DECADES = 12;

/**
 * An axis for amounts: logarithmic if they span decades, otherwise linear from zero.
 *
 * @param most approximate number of ticks
 * @param unit ticks are round multiples of it
 */
export function amountAxis(values: readonly number[], most: number, unit = 1): Axis {
  const { type, domain, ticks } = plainAxis(
    values.map((value) => value / unit),
    most,
  );
  const [low, high] = domain;
  return { type, domain: [low * unit, high * unit], ticks: ticks.map((tick) => tick * unit) };
}

function plainAxis(values: readonly number[], most: number): Axis {
  const positive = values.filter((value) => value > 0);
  const high = Math.max(...positive, Number.MIN_VALUE);
  const low = Math.min(...positive, high);
  if (high / low <= SPANS_DECADES) return linearAxis(0, high * 1.06, most);
  const domain = [low / 1.3, high * 1.3] as const;
  return { type: "log", domain, ticks: logTicks(domain, most) };
}

/** @param most approximate number of ticks */
export function linearAxis(low: number, high: number, most: number): Axis {
  const span = high - low || 1;
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough)! * power;
  const ticks: number[] = [];
  // Multiples, not sums, so that rounding errors do not add up.
  for (let i = Math.ceil(low / step - 1e-9) + 0; i * step <= high; i++) ticks.push(i * step);
  return { type: "linear", domain: [low, low + span], ticks };
}

/** 1, 2 and 5 of each decade, or fewer if those are too many, or else both ends. */
export function logTicks([low, high]: readonly [number, number], most: number): number[] {
  const candidates = [[1, 2, 5], [1, 3], [1]].map((factors) => {
    const ticks: number[] = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      ticks.push(...factors.map((factor) => Number(`${factor}e${power}`)));
    }
    return ticks.filter((tick) => tick >= low && tick <= high);
  });
  const found = candidates.find((ticks) => ticks.length <= most) ?? candidates.at(-1)!;
  const stride = Math.ceil(found.length / most);
  const ticks = found.filter((_, i) => i % stride === 0);
  return ticks.length > 1 ? ticks : [low, high];
}

/** The position of a value on the axis, 0 to 1. */
export function along({ type, domain: [low, high] }: Axis, value: number): number {
  const at = type === "log" ? Math.log : (v: number) => v;
  return (at(value) - at(low)) / (at(high) - at(low));
}

/** The values that can be labelled without overlap. */
export function nonOverlapping(
  axis: Axis,
  values: readonly number[],
  pixels: number,
  gap: number,
): number[] {
  const kept: number[] = [];
  for (const value of values.toSorted((a, b) => a - b)) {
    const last = kept.at(-1);
    if (last === undefined || (along(axis, value) - along(axis, last)) * pixels >= gap)
      kept.push(value);
  }
  return kept;
}
