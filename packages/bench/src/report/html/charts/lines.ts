import { type Markish, axisX, axisY, dot, gridY, line, ruleX, text } from "@observablehq/plot";
import { type Html, html } from "../html.ts";
import { BOLD_CHARACTER, CHARACTER, type Drawing, FONT_SIZE, NARROW, chart } from "../plot.ts";
import { type Axis, along, amountAxis, linearAxis, nonOverlapping } from "./axis.ts";
import { type SeriesStyle, type SeriesStyles, legend } from "./palette.ts";

export interface LinePoint {
  readonly series: string;
  readonly x: number;
  readonly y: number;
  /** The interval of y. */
  readonly low?: number | undefined;
  readonly high?: number | undefined;
}

export interface LineChart {
  readonly label: string;
  readonly points: readonly LinePoint[];
  /** A style for every series in `points`. */
  readonly styles: SeriesStyles;
  /** The label of the horizontal axis. */
  readonly along: string;
  /** "steps": few points, at sizes or counts, which are the ticks. "time": many points, from zero. */
  readonly kind: "steps" | "time";
  readonly formatX: (x: number) => string;
  readonly formatY: (y: number) => string;
  /** Ticks of the vertical axis are round multiples of it, such as a MiB. */
  readonly unitY?: number | undefined;
}

interface Frame {
  readonly height: number;
  readonly marginTop: number;
  readonly marginBottom: number;
  readonly marginLeft: number;
  readonly marginRight: number;
}

const HEIGHT = { wide: 320, narrow: 260 };
const LINE_HEIGHT = FONT_SIZE * 1.25;

/** Lines with intervals, named at their ends, or in a legend on a narrow screen. */
export function lineChart(options: LineChart): Html {
  const series = [...new Set(options.points.map(({ series }) => series))];
  const drawing = chart(options.label, (width) => draw(options, series, width));
  const names = legend(series, options.styles, isNamed(options, series) ? "narrow" : "always");
  return html`${series.length > 1 && names}${drawing}`;
}

/** Whether names are at the ends of the lines: lines over time end at different positions. */
function isNamed({ kind }: LineChart, series: readonly string[]): boolean {
  return kind === "steps" && series.length > 1;
}

function draw(options: LineChart, series: readonly string[], width: number): Drawing {
  const { points, formatX, formatY } = options;
  const narrow = width === NARROW;
  const longest = Math.max(...series.map(({ length }) => length));
  const named = isNamed(options, series) && !narrow;
  const frame: Frame = {
    height: narrow ? HEIGHT.narrow : HEIGHT.wide,
    marginTop: 12,
    marginBottom: 44,
    marginLeft: 70,
    marginRight: named ? Math.min(280, 24 + longest * BOLD_CHARACTER) : 22,
  };
  const inside = width - frame.marginLeft - frame.marginRight;
  const x = horizontal(options, inside);
  const y = amountAxis(
    points.flatMap(({ y, low, high }) => [y, low ?? y, high ?? y]),
    narrow ? 5 : 7,
    options.unitY,
  );
  const styles = series.map((name) => [name, options.styles.get(name)!] as const);
  const marks: Markish[] = [
    gridY(y.ticks, { stroke: "var(--grid)", strokeOpacity: 1 }),
    axisY(y.ticks, { text: formatY, tickSize: 0, label: null, fill: "var(--muted)" }),
    axisX(x.ticks, {
      text: formatX,
      label: options.along,
      labelArrow: "none",
      labelAnchor: "center",
      tickSize: 4,
      fill: "var(--muted)",
      stroke: "var(--grid)",
      color: "var(--muted)",
    }),
  ];
  for (const [name, { color, symbol, dash }] of styles) {
    const own = points.filter(({ series }) => series === name).toSorted((a, b) => a.x - b.x);
    const sure = own.filter(({ low, high }) => low !== undefined && high !== undefined);
    const title = (point: LinePoint) => `${name}, ${formatX(point.x)}: ${formatY(point.y)}`;
    marks.push(
      ruleX(sure, {
        x: "x",
        y1: "low",
        y2: "high",
        stroke: color,
        strokeWidth: 7,
        strokeOpacity: 0.3,
        strokeLinecap: "butt",
      }),
      line(own, {
        x: "x",
        y: "y",
        stroke: color,
        strokeWidth: 2,
        strokeDasharray: dash,
        strokeLinejoin: "round",
      }),
    );
    marks.push(
      dot(options.kind === "steps" ? own : own.slice(-1), {
        x: "x",
        y: "y",
        fill: color,
        symbol,
        r: 4.5,
        stroke: "var(--surface)",
        strokeWidth: 1,
        title,
      }),
    );
  }
  if (named) marks.push(...names(points, styles, y, frame));
  return {
    ...frame,
    x: { type: x.type, domain: [...x.domain] },
    y: { type: y.type, domain: [...y.domain] },
    marks,
  };
}

function horizontal({ points, kind, formatX }: LineChart, pixels: number): Axis {
  const values = points.map(({ x }) => x);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (kind === "time") return linearAxis(0, high, pixels / 90);
  const axis: Axis = { type: "log", domain: [low / 1.06, high * 1.06], ticks: [] };
  const widest = Math.max(...values.map((value) => formatX(value).length));
  return {
    ...axis,
    ticks: nonOverlapping(axis, [...new Set(values)], pixels, widest * CHARACTER + 8),
  };
}

/** The names at the ends of the lines, moved apart so that they do not overlap. */
function names(
  points: readonly LinePoint[],
  styles: readonly (readonly [string, SeriesStyle])[],
  y: Axis,
  { height, marginTop, marginBottom, marginRight }: Frame,
): Markish[] {
  const inside = height - marginTop - marginBottom;
  const ends = styles.map(([name, { color }]) => {
    const own = points.filter(({ series }) => series === name);
    const end = own.reduce((last, point) => (point.x >= last.x ? point : last));
    return { name, color, end, at: (1 - along(y, end.y)) * inside };
  });
  const moved = pushApart(
    ends.map(({ at }) => at),
    LINE_HEIGHT,
    inside,
  );
  return ends.map(({ name, color, end, at }, i) =>
    text([end], {
      x: "x",
      y: "y",
      text: () => name,
      fill: color,
      fontWeight: 600,
      textAnchor: "start",
      dx: 10,
      dy: moved[i]! - at,
      lineWidth: (marginRight - 12) / FONT_SIZE,
      textOverflow: "ellipsis-end",
    }),
  );
}

/** Moves positions at least a gap apart, in the same order, and if possible within 0 to `most`. */
export function pushApart(positions: readonly number[], gap: number, most: number): number[] {
  const order = positions.map((_, i) => i).toSorted((a, b) => positions[a]! - positions[b]!);
  const moved = [...positions];
  let least = -Infinity;
  for (const i of order) least = (moved[i] = Math.max(moved[i]!, least)) + gap;
  let limit = most;
  for (const i of order.toReversed()) limit = (moved[i] = Math.min(moved[i]!, limit)) - gap;
  return moved;
}
