import { type Markish, dot, ruleY } from "@observablehq/plot";
import type { Measurement, Pair } from "../../report.ts";
import { formatChange, formatDelta } from "../../units.ts";
import { type Html, html } from "../html.ts";
import { chart } from "../plot.ts";
import { figure, table } from "../table.ts";
import { formatShare, tickChange, tickCount, tickTime } from "../tick-units.ts";
import { linearAxis } from "./axis.ts";
import { type RowPositions, drawRows, referenceLine } from "./rows.ts";

/** Dots per row; if there are more, every second, third… is drawn. */
const MOST_DOTS = 150;
/** If base times differ by more than this factor, deltas are drawn as shares of their base. */
const ONE_AXIS = 10;

/** The differences of measurements taken in pairs, and their means. */
export function pairedDeltas(pairs: readonly Pair[], measurements: readonly Measurement[]): Html {
  const bases = pairs.map((pair) => baseMean(pair, measurements));
  const inTime = Math.max(...bases) / Math.min(...bases) <= ONE_AXIS;
  const scales = bases.map((base) => (inTime ? 1 : 1 / base));
  const ends = domain(pairs, scales);
  const all = pairs.flatMap(({ deltas }, i) => deltas.map((delta) => delta * scales[i]!));
  const outside = all.filter((delta) => delta < ends[0] || delta > ends[1]).length;
  const drawing = chart("Differences of all pairs, and their mean with its interval", (width) =>
    drawRows(
      {
        rows: pairs.map((pair) => ({ name: pair.name, detail: summary(pair) })),
        axis: (pixels) => linearAxis(...ends, pixels / 90),
        along: inTime ? "head − base" : "head − base, as a share of the base",
        format: (x) => (x === 0 ? "0" : inTime ? tickTime(x) : tickChange(x)),
        rowHeight: 44,
        marks: (positions) => [
          referenceLine(0, pairs, positions),
          ...pairs.flatMap((pair, i) => row(pair, i, positions, scales[i]!, ends)),
        ],
      },
      width,
    ),
  );
  const confidence = formatShare(pairs[0]?.interval.confidence ?? 0.95);
  return figure(
    "Paired differences",
    `Each faint dot is the difference of one pair, the diamond their mean, the bar its ${confidence} interval. If the bar touches the line at zero, there is no measurable difference.${outside > 0 ? ` Of ${all.length} differences, ${outside} are outside the chart and not drawn.` : ""}`,
    html`${drawing}
      <ul class="verdicts">
        ${pairs.map(({ name, verdict }) => html`<li><b>${name}:</b> ${verdict}</li>`)}
      </ul>`,
    table(
      "Paired differences",
      ["Pair", "Base", "Head", "Pairs", "Mean difference", "from", "to", "Overhead"],
      pairs.map(({ name, base, head, deltas, meanDelta, interval, overhead }) => [
        name,
        base,
        head,
        tickCount(deltas.length),
        formatDelta(meanDelta),
        formatDelta(interval.low),
        formatDelta(interval.high),
        formatChange(overhead),
      ]),
      [1, 2],
    ),
  );
}

function baseMean(
  { base, meanDelta, overhead }: Pair,
  measurements: readonly Measurement[],
): number {
  const measured = measurements.find(({ name }) => name === base)?.distribution.mean;
  const mean = measured ?? meanDelta / overhead;
  return Number.isFinite(mean) && mean > 0 ? mean : 1;
}

function summary({ meanDelta, overhead }: Pair): string {
  return `${formatDelta(meanDelta)}, ${formatChange(overhead)}`;
}

/** A range with all intervals, zero, and nine tenths of the differences, so that outliers take no room. */
function domain(pairs: readonly Pair[], scales: readonly number[]): [number, number] {
  const ends = pairs.flatMap(({ deltas, interval }, i) => {
    const sorted = deltas.toSorted((a, b) => a - b);
    const cut = Math.floor(sorted.length / 20);
    return [sorted[cut]!, sorted.at(-1 - cut)!, interval.low, interval.high].map(
      (x) => x * scales[i]!,
    );
  });
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const edge = (high - low) * 0.06 || 1e-9;
  return [low - edge, high + edge];
}

function row(
  { name, deltas, meanDelta, interval }: Pair,
  i: number,
  positions: RowPositions,
  scale: number,
  [least, most]: readonly [number, number],
): Markish[] {
  const stride = Math.ceil(deltas.length / MOST_DOTS);
  const shown = deltas.filter((delta, i) => {
    const at = delta * scale;
    return i % stride === 0 && at >= least && at <= most;
  });
  const [top, bottom] = [positions.top(i), positions.bottom(i)];
  // Steps of the golden ratio spread evenly, and are the same every time.
  const spread = (_: number, i: number) => top + (bottom - top) * ((i * 0.618_034) % 1);
  const few = shown.length <= 24;
  const color = tone(interval);
  const mean = { x: meanDelta * scale, low: interval.low * scale, high: interval.high * scale };
  const y = positions.middle(i);
  return [
    dot(shown, {
      x: (delta: number) => delta * scale,
      y: spread,
      r: few ? 3 : 2,
      fill: color,
      fillOpacity: few ? 0.55 : 0.3,
    }),
    ruleY([mean], { y, x1: "low", x2: "high", stroke: color, strokeWidth: 5 }),
    dot([mean], {
      x: "x",
      y,
      symbol: "diamond",
      r: 6,
      fill: color,
      stroke: "var(--surface)",
      strokeWidth: 1.5,
      title: () => `${name}: ${formatDelta(meanDelta)}`,
    }),
  ];
}

function tone({ low, high }: Pair["interval"]): string {
  if (low > 0) return "var(--worse)";
  return high < 0 ? "var(--better)" : "var(--neutral)";
}
