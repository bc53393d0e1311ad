import { type Html, html } from "../html.ts";

/** Colours that the page has as variables: the Okabe and Ito palette, tuned for light and for dark. */
const COLORS = 7;

/** Shapes as the charts library names them, and the character that looks like each. */
const SHAPES = [
  ["circle", "●"],
  ["square", "■"],
  ["triangle", "▲"],
  ["diamond", "◆"],
  ["star", "★"],
  ["cross", "✚"],
  ["hexagon", "⬢"],
] as const;

/** How the lines and points of one series look; told apart without colours as well. */
export interface SeriesStyle {
  readonly color: string;
  readonly symbol: (typeof SHAPES)[number][0];
  readonly dash: string;
  /** A text that looks like it. */
  readonly sample: Html;
}

/** By the names of the series; the same in all charts of a suite. */
export type SeriesStyles = ReadonlyMap<string, SeriesStyle>;

/** The style of each series, in the order in which they come. */
export function seriesStyles(series: readonly string[]): SeriesStyles {
  return new Map([...new Set(series)].map((name, i) => [name, styleOf(i)]));
}

/** Shown always, or on narrow screens, where there is no room for names beside the lines. */
export function legend(
  series: readonly string[],
  styles: SeriesStyles,
  shown: "narrow" | "always",
): Html {
  const items = series.map((name) => html`<li>${styles.get(name)?.sample} ${name}</li>`);
  return html`<ul class="legend ${shown}">
    ${items}
  </ul>`;
}

function styleOf(i: number): SeriesStyle {
  const color = (i % COLORS) + 1;
  // Where colours come again, they come with another shape.
  const [symbol, character] = SHAPES[(i + Math.floor(i / COLORS)) % SHAPES.length]!;
  return {
    color: `var(--series-${color})`,
    symbol,
    dash: ["none", "6 3", "2 3"][Math.floor(i / COLORS) % 3]!,
    sample: html`<span class="series-${color}" aria-hidden="true">${character}</span>`,
  };
}
