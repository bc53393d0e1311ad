/** Where an axis begins and ends, how it is divided, and where its ticks are. */
export interface Axis {
  readonly type: "linear" | "log";
  readonly domain: readonly [number, number];
  readonly ticks: readonly number[];
}

/** From this ratio of the largest to the smallest value on, an axis is logarithmic. */
const SPANS_DECADES = 12;

/**
 * An axis for amounts: logarithmic where they span decades, otherwise from zero.
 *
 * @param most ticks, roughly
 * @param unit that the ticks are round multiples of
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

/** @param most ticks, roughly */
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

/** 1, 2 and 5 of each decade, or fewer where that is too many; where nothing else fits, both ends. */
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

/** 0 to 1: how far along the axis a value is. */
export function along({ type, domain: [low, high] }: Axis, value: number): number {
  const at = type === "log" ? Math.log : (v: number) => v;
  return (at(value) - at(low)) / (at(high) - at(low));
}

/** The values that can be named without the names touching. */
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
