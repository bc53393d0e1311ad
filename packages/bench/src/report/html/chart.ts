import {
  type PlotOptions,
  axisX,
  axisY,
  dot,
  gridY,
  line,
  plot,
  ruleX,
  selectLast,
} from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { sizeName } from "../../harness/content.ts";
import type { Measurement } from "../report.ts";
import { type Html, html, trusted } from "./html.ts";

/** Widths in pixels of the two versions of a chart; the page shows the one that fits. */
const WIDE = 1180;
const NARROW = 350;
/** Approximate width of a character: text cannot be measured here. */
const CHARACTER = 7.2;

const GRID = { stroke: "var(--grid)", strokeOpacity: 1 } as const;
const NO_LABEL = { label: null, tickSize: 0 } as const;
const MUTED = { color: "var(--muted)" } as const;
const INTERVAL = { y1: "low", y2: "high", strokeWidth: 7, strokeOpacity: 0.3 } as const;

/** Shapes of the chart library and characters like them: series differ without colours as well. */
const SHAPES = ["circle", "square", "triangle", "diamond", "star", "cross", "hexagon"] as const;
const CHARACTERS = "●■▲◆★✚⬢";

const { document } = parseHTML("<!doctype html><html><body></body></html>");

/** A chart as inline SVG, drawn for wide screens and paper, and for phones. */
function chart(label: string, draw: (width: number) => PlotOptions): Html {
  const drawings = [WIDE, NARROW].map((width) => {
    const style = { fontSize: "13px", color: "var(--ink)", background: "none" };
    const className = width === WIDE ? "wide" : "narrow";
    const svg = plot({ ...draw(width), document, width, style, className, ariaLabel: label });
    // The library adds a style sheet to each chart, which the page does not need.
    for (const sheet of svg.querySelectorAll("style")) sheet.remove();
    svg.setAttribute("role", "img");
    // Tenths of a pixel make the page much smaller.
    const rounded = svg.outerHTML.replaceAll(
      / (?:d|[cxy][xy12]?|width|height|transform)="[^"]*"/g,
      (attribute) => attribute.replaceAll(/\d+\.\d{2,}/g, (number) => Number(number).toFixed(1)),
    );
    return trusted(rounded);
  });
  return html`<figure>
    <figcaption>${label}</figcaption>
    ${drawings}
  </figure>`;
}

/** `low` and `high` are the interval of y. */
interface Point {
  readonly series: string;
  readonly x: number;
  readonly y: number;
  readonly low?: number;
  readonly high?: number;
}

/** Rates by size, or by number of threads or the like, of the series that have several. */
export function ratesCharts(measurements: readonly Measurement[]): Html[] {
  const points = measurements.flatMap(({ series, x, bytesPerOperation: bytes, distribution }) => {
    const { p50, interval } = distribution;
    if (!x || !bytes || interval.low <= 0) return [];
    const [y, low, high] = [p50, interval.high, interval.low].map((time) => bytes / time / 1e6);
    return [{ series, unit: x.unit, x: x.value, y: y!, low: low!, high: high! }];
  });
  return [...new Set(points.map(({ unit }) => unit))].flatMap((unit) => {
    const own = points.filter((point) => point.unit === unit);
    const drawn = own.filter(({ series, x }) =>
      own.some((other) => other.series === series && other.x !== x),
    );
    if (drawn.length === 0) return [];
    const [label, formatX] = unit === "bytes" ? ["size", sizeName] : [unit, String];
    return [lineChart(`Rate by ${label}, MB/s`, drawn, formatX)];
  });
}

/** More lines could not be told apart, and more points than pixels only make the page larger. */
const LINES_MOST = 10;
const POINTS_MOST = 160;

/** Resident memory over time, of the longest measurements. */
export function memoryChart(measurements: readonly Measurement[]): Html | false {
  const recorded = measurements
    .flatMap(({ name, memory = [] }) => (memory.length < 2 ? [] : [{ name, memory }]))
    .toSorted((a, b) => b.memory.at(-1)!.at - a.memory.at(-1)!.at);
  const points = recorded.slice(0, LINES_MOST).flatMap(({ name, memory }): Point[] => {
    const stride = Math.ceil(memory.length / POINTS_MOST);
    const kept = memory.filter((_, i) => i % stride === 0 || i === memory.length - 1);
    return kept.map(({ at, rss }) => ({ series: name, x: at, y: rss / 2 ** 20 }));
  });
  const more = recorded.length > LINES_MOST;
  const which = more ? `; the ${LINES_MOST} longest of ${recorded.length}` : "";
  return points.length > 0 && lineChart(`Resident memory over time, MiB${which}`, points);
}

const thousands = (value: number): string => value.toLocaleString("en-US");
const seconds = (value: number): string => `${Number(value.toPrecision(3))} s`;

/**
 * Lines, with a legend. The vertical axis is logarithmic if the values span decades.
 *
 * @param label includes the unit of y
 * @param formatX each x is a step of its own, with a mark and a tick; without it, x is seconds
 */
function lineChart(label: string, points: readonly Point[], formatX?: (x: number) => string): Html {
  const sorted = points.toSorted((a, b) => a.x - b.x);
  const xs = [...new Set(sorted.map(({ x }) => x))];
  const series = [...new Set(points.map((point) => point.series))];
  const colorOf = (i: number): string => `var(--series-${(i % SHAPES.length) + 1})`;
  // After the last colour they begin again, with other shapes.
  const shapeOf = (i: number): number => (i + Math.floor(i / SHAPES.length)) % SHAPES.length;
  const ends = points.flatMap(({ y, low = y, high = y }) => [low, high]).filter((y) => y > 0);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const decades = most / least > 12;
  const longest = Math.max(...xs.map((x) => formatX?.(x).length ?? 0)) * CHARACTER + 10;
  const own = { x: "x", z: "series", stroke: "series" } as const;
  const drawing = chart(label, (width) => {
    const stride = Math.ceil((xs.length * longest) / (width - 88));
    const ticks = formatX ? xs.filter((_, i) => i % stride === 0) : width / 120;
    const mark = { ...own, y: "y", symbol: "series", fill: "series", r: 4 } as const;
    return {
      marginLeft: 58,
      marginRight: 30,
      height: width === WIDE ? 320 : 260,
      x: formatX
        ? { type: "point", domain: xs, padding: 0.2 }
        : { type: "linear", domain: [0, xs.at(-1)!] },
      y: decades
        ? { type: "log", domain: [least / 1.2, most * 1.2] }
        : { type: "linear", domain: [0, most * 1.05] },
      color: { domain: series, range: series.map((_, i) => colorOf(i)) },
      symbol: { domain: series, range: series.map((_, i) => SHAPES[shapeOf(i)]!) },
      marks: [
        gridY({ ticks: 6, ...GRID }),
        axisY({ ...NO_LABEL, ...MUTED, ticks: 6, tickFormat: thousands }),
        axisX({ ...NO_LABEL, ...MUTED, ticks, tickFormat: formatX ?? seconds }),
        ruleX(formatX ? sorted : [], { ...own, ...INTERVAL }),
        line(sorted, { ...own, y: "y", strokeWidth: 2 }),
        dot(sorted, formatX ? mark : selectLast(mark)),
      ],
    };
  });
  const legend = series.map(
    (name, i) =>
      html`<li>
        <span style="color: ${colorOf(i)}" aria-hidden="true">${CHARACTERS[shapeOf(i)]}</span>
        ${name}
      </li>`,
  );
  return html`${drawing}
    <ul class="legend">
      ${legend}
    </ul>`;
}
