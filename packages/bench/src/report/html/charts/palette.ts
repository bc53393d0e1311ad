import { type Html, html } from "../html.ts";

/** Number of colour variables of the page: the Okabe and Ito palette, adjusted for light and dark. */
const COLORS = 7;

/** Shapes by their names in the chart library, with a similar character. */
const SHAPES = [
  ["circle", "●"],
  ["square", "■"],
  ["triangle", "▲"],
  ["diamond", "◆"],
  ["star", "★"],
  ["cross", "✚"],
  ["hexagon", "⬢"],
] as const;

/** The look of one series, which is distinct without colours as well. */
export interface SeriesStyle {
  readonly color: string;
  readonly symbol: (typeof SHAPES)[number][0];
  readonly dash: string;
  /** A character that looks like it. */
  readonly sample: Html;
}

/** Styles by name of the series, shared by all charts of a suite. */
export type SeriesStyles = ReadonlyMap<string, SeriesStyle>;

/** Assigns styles to series in the given order. */
export function seriesStyles(series: readonly string[]): SeriesStyles {
  return new Map([...new Set(series)].map((name, i) => [name, styleOf(i)]));
}

/** A legend that is always shown, or only on narrow screens, which have no room for names at lines. */
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
  // A repeated colour has another shape.
  const [symbol, character] = SHAPES[(i + Math.floor(i / COLORS)) % SHAPES.length]!;
  return {
    color: `var(--series-${color})`,
    symbol,
    dash: ["none", "6 3", "2 3"][Math.floor(i / COLORS) % 3]!,
    sample: html`<span class="series-${color}" aria-hidden="true">${character}</span>`,
  };
}
