import { type Markish, axisX, gridX, ruleX, text } from "@observablehq/plot";
import { CHARACTER, type Drawing, FONT_SIZE, NARROW } from "../plot.ts";
import type { Axis } from "./axis.ts";

/** A row of a chart. */
export interface Row {
  readonly name: string;
  /** The value as text. */
  readonly detail: string;
}

/** Positions in a row: row i extends from i to i + 1, downwards. */
export interface RowPositions {
  readonly top: (i: number) => number;
  readonly middle: (i: number) => number;
  readonly bottom: (i: number) => number;
}

export interface RowChart {
  readonly rows: readonly Row[];
  /** The axis for a width in pixels. */
  readonly axis: (pixels: number) => Axis;
  readonly along: string;
  readonly format: (x: number) => string;
  /** Height of a row in pixels, without the texts above it on narrow screens. */
  readonly rowHeight: number;
  readonly marks: (positions: RowPositions, axis: Axis) => Markish[];
}

/** Maximum widths in pixels of the columns beside a wide chart. */
const NAMES = 350;
const DETAILS = 230;
const LINE_HEIGHT = FONT_SIZE * 1.4;

/** Draws names on the left and values on the right, or both above each row on a narrow screen. */
export function drawRows(options: RowChart, width: number): Drawing {
  const { rows, rowHeight } = options;
  const narrow = width === NARROW;
  const above = narrow ? LINE_HEIGHT * 2 + 6 : 0;
  const pitch = rowHeight + above;
  const [marginLeft, marginRight] = narrow
    ? [12, 16]
    : [
        column(
          rows.map(({ name }) => name),
          NAMES,
        ),
        column(
          rows.map(({ detail }) => detail),
          DETAILS,
        ),
      ];
  const [marginTop, marginBottom] = [4, 40];
  const axis = options.axis(width - marginLeft - marginRight);
  const at = (share: number) => (i: number) => i + (above + rowHeight * share) / pitch;
  const positions: RowPositions = { top: at(0.06), middle: at(0.5), bottom: at(0.94) };

  const words = (side: "name" | "detail"): Markish => {
    const toLeft = narrow || side === "name";
    const line = side === "name" ? 0.5 : 1.5;
    return text(rows, {
      y: narrow
        ? (_: Row, i: number) => i + (5 + line * LINE_HEIGHT) / pitch
        : (_: Row, i: number) => positions.middle(i),
      text: side,
      fill: side === "name" ? "var(--ink)" : "var(--muted)",
      frameAnchor: toLeft ? "left" : "right",
      textAnchor: "start",
      dx: narrow ? -marginLeft + 2 : toLeft ? -marginLeft : 12,
      lineWidth: (narrow ? width : (toLeft ? marginLeft : marginRight) - 12) / FONT_SIZE,
      // Keeps lines of the chart from crossing the text.
      stroke: "var(--surface)",
      strokeWidth: 4,
      textOverflow: "ellipsis-end",
    });
  };
  return {
    height: marginTop + marginBottom + rows.length * pitch,
    marginTop,
    marginBottom,
    marginLeft,
    marginRight,
    x: { type: axis.type, domain: [...axis.domain], clamp: true },
    y: { type: "linear", domain: [rows.length, 0], axis: null },
    marks: [
      gridX(axis.ticks, { stroke: "var(--grid)", strokeOpacity: 1 }),
      axisX(axis.ticks, {
        anchor: "bottom",
        text: options.format,
        tickSize: 0,
        label: options.along,
        labelAnchor: "center",
        labelArrow: "none",
        fill: "var(--muted)",
        color: "var(--muted)",
      }),
      ...options.marks(positions, axis),
      words("name"),
      words("detail"),
    ],
  };
}

/** A vertical line in all rows, for "no difference" or a bound, that does not cross their texts. */
export function referenceLine(
  x: number,
  rows: readonly unknown[],
  positions: RowPositions,
): Markish {
  const parts = rows.map((_, i) => ({ top: positions.top(i), bottom: positions.bottom(i) }));
  return ruleX(parts, { x, y1: "top", y2: "bottom", stroke: "var(--ink)", strokeWidth: 1.5 });
}

function column(texts: readonly string[], most: number): number {
  return Math.min(most, 20 + CHARACTER * Math.max(...texts.map(({ length }) => length)));
}
