import { type PlotOptions, plot } from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { type Html, html, trusted } from "./html.ts";

/** Widths of the two versions of a chart in pixels; the page shows the one that fits. */
const WIDE = 920;
export const NARROW = 345;

/** Font size in charts, in pixels. */
export const FONT_SIZE = 13;

/** Approximate width of a character in pixels: text cannot be measured here. */
export const CHARACTER = 7;
export const BOLD_CHARACTER = 7.6;

/** The attributes with coordinates that the library writes. */
const COORDINATES = [
  "d",
  "cx",
  "cy",
  "x",
  "y",
  "x1",
  "x2",
  "y1",
  "y2",
  "width",
  "height",
  "transform",
];

const { document } = parseHTML("<!doctype html><html><body></body></html>");

/** Options for the library; margins and height in pixels. */
export type Drawing = PlotOptions & {
  readonly height: number;
  readonly marginTop: number;
  readonly marginBottom: number;
};

/**
 * A chart as inline SVG, drawn once for wide screens and paper and once for phones. Colours are
 * variables and classes of the page, so that they work in light and dark mode.
 *
 * @param label description for screen readers; the numbers are in a table next to the chart
 */
export function chart(label: string, draw: (width: number) => Drawing): Html {
  return html`<div class="chart">
    ${[WIDE, NARROW].map((width) => drawn(label, width, draw(width)))}
  </div>`;
}

function drawn(label: string, width: number, options: Drawing): Html {
  const svg = plot({
    ...options,
    document,
    width,
    style: { fontSize: `${FONT_SIZE}px` },
  });
  // The library adds a style sheet to each chart; the page has one for all.
  for (const style of svg.querySelectorAll("style")) style.remove();
  svg.setAttribute("class", width === WIDE ? "wide" : "narrow");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  for (const element of svg.querySelectorAll("*")) round(element);
  return trusted(svg.outerHTML);
}

/** Rounds to tenths of a pixel, which makes the page much smaller. */
function round(element: Element): void {
  for (const name of COORDINATES) {
    const value = element.getAttribute(name);
    if (value === null) continue;
    element.setAttribute(
      name,
      value.replaceAll(/-?\d+\.\d{2,}/g, (number) => String(Math.round(Number(number) * 10) / 10)),
    );
  }
}
