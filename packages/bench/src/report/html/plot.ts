import { type PlotOptions, plot } from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { type Html, html, trusted } from "./html.ts";

/** Pixels that a chart is drawn for; the page shows the one that fits. */
const WIDE = 920;
export const NARROW = 345;

/** Pixels of text of the charts. */
export const FONT_SIZE = 13;

/** Pixels of a character of them, roughly: nothing measures text here. */
export const CHARACTER = 7;
export const BOLD_CHARACTER = 7.6;

/** Every attribute with coordinates in it that the library writes. */
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

/** What the library is told; margins and height in pixels. */
export type Drawing = PlotOptions & {
  readonly height: number;
  readonly marginTop: number;
  readonly marginBottom: number;
};

/**
 * A chart as inline SVG, drawn twice: for wide screens and paper, and for phones. Colours are
 * variables and classes of the page, so that it is right in light and dark.
 *
 * @param label what the chart shows, for those who hear it; the numbers are in a table beside it
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
  // The library brings its own style sheet with each chart; the page has one for all.
  for (const style of svg.querySelectorAll("style")) style.remove();
  svg.setAttribute("class", width === WIDE ? "wide" : "narrow");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  for (const element of svg.querySelectorAll("*")) round(element);
  return trusted(svg.outerHTML);
}

/** Hundredths of a pixel are enough, and make the page much smaller. */
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
