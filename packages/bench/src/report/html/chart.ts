import { type PlotOptions, axisX, axisY, dot, gridY, line, plot, ruleX } from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { type Html, html, trusted } from "./html.ts";

/** Widths in pixels of the two versions of a chart; the page shows the one that fits. */
const WIDE = 1180;
const NARROW = 350;
/** Approximate width of a character: text cannot be measured here. */
const CHARACTER = 7.2;

const GRID = { stroke: "var(--grid)", strokeOpacity: 1 } as const;
const NO_LABEL = { label: null, tickSize: 0 } as const;
const MUTED = { color: "var(--muted)" } as const;

/** Shapes of the chart library and characters like them: series differ without colours as well. */
const SHAPES = ["circle", "square", "triangle", "diamond", "star", "cross", "hexagon"] as const;
const CHARACTERS = "●■▲◆★✚⬢";

const { document } = parseHTML("<!doctype html><html><body></body></html>");

/** A chart as inline SVG, drawn for wide screens and paper, and for phones. */
function chart(label: string, draw: (width: number) => PlotOptions): Html {
  const drawings = [WIDE, NARROW].map((width) => {
    const style = { fontSize: "13px", color: "var(--ink)", background: "none" };
    const svg = plot({ ...draw(width), document, width, style });
    // The library adds a style sheet to each chart, which the page does not need.
    for (const sheet of svg.querySelectorAll("style")) sheet.remove();
    svg.setAttribute("class", width === WIDE ? "wide" : "narrow");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
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
export interface Point {
  readonly series: string;
  readonly x: number;
  readonly y: number;
  readonly low?: number;
  readonly high?: number;
}

interface LineChart {
  /** Includes the unit of y. */
  readonly label: string;
  readonly points: readonly Point[];
  /** "steps": at each x a mark and a tick, equally spaced. "time": x is seconds. */
  readonly kind: "steps" | "time";
  readonly formatX: (x: number) => string;
}

const INTERVAL = { x: "x", y1: "low", y2: "high", strokeWidth: 7, strokeOpacity: 0.3 } as const;
const thousands = (value: number): string => value.toLocaleString("en-US");

/** Lines, with a legend. The vertical axis is logarithmic if the values span decades. */
export function lineChart({ label, points, kind, formatX }: LineChart): Html {
  const steps = kind === "steps";
  const series = [...new Set(points.map((point) => point.series))];
  const lookOf = (name: string) => {
    const i = series.indexOf(name);
    const again = Math.floor(i / SHAPES.length);
    const shape = (i + again) % SHAPES.length;
    const dash = again > 0 ? "5 3" : "none";
    const color = (i % SHAPES.length) + 1;
    return { color, symbol: SHAPES[shape]!, character: CHARACTERS[shape]!, dash };
  };
  const ends = points.flatMap(({ y, low = y, high = y }) => [low, high]).filter((y) => y > 0);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const decades = most / least > 12;
  const domainY = decades ? [least / 1.2, most * 1.2] : [0, most * 1.05];
  const xs = [...new Set(points.map(({ x }) => x))].toSorted((a, b) => a - b);
  const longest = Math.max(...xs.map((x) => formatX(x).length)) * CHARACTER + 10;
  const drawing = chart(label, (width) => {
    const stride = Math.ceil((xs.length * longest) / (width - 88));
    return {
      marginLeft: 58,
      marginRight: 30,
      height: width === WIDE ? 320 : 260,
      x: steps
        ? { type: "point", domain: xs, padding: 0.2 }
        : { type: "linear", domain: [0, xs.at(-1)!] },
      y: { type: decades ? "log" : "linear", domain: domainY },
      marks: [
        gridY({ ticks: 6, ...GRID }),
        axisY({ ...NO_LABEL, ...MUTED, ticks: 6, tickFormat: thousands }),
        axisX({
          ...(steps ? { ticks: xs.filter((_, i) => i % stride === 0) } : { ticks: width / 120 }),
          ...NO_LABEL,
          ...MUTED,
          tickFormat: formatX,
        }),
        ...series.flatMap((name) => {
          const own = points.filter((point) => point.series === name).toSorted((a, b) => a.x - b.x);
          const { color, symbol, dash } = lookOf(name);
          const stroke = `var(--series-${color})`;
          const at = { x: "x", y: "y" } as const;
          return [
            ruleX(steps ? own : [], { ...INTERVAL, stroke }),
            line(own, { ...at, stroke, strokeWidth: 2, strokeDasharray: dash }),
            dot(steps ? own : own.slice(-1), { ...at, symbol, fill: stroke, r: 4 }),
          ];
        }),
      ],
    };
  });
  const legend = series.map((name) => {
    const { color, character } = lookOf(name);
    return html`<li>
      <span class="series-${color}" aria-hidden="true">${character}</span> ${name}
    </li>`;
  });
  return html`${drawing}
    <ul class="legend">
      ${legend}
    </ul>`;
}
