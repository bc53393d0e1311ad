import { type Markish, dot, ruleY } from "@observablehq/plot";
import type { Target } from "../../report.ts";
import { formatBound, formatValue } from "../../units.ts";
import { type Html, html } from "../html.ts";
import { chart } from "../plot.ts";
import { figure, table } from "../table.ts";
import { logTicks } from "./axis.ts";
import { type RowPositions, drawRows, referenceLine } from "./rows.ts";

/** Larger factors are drawn at this one. */
const FAR = 30;

/** The distance of each target from its bound. */
export function headroom(targets: readonly Target[]): Html {
  const margins = targets.map(margin);
  const low = Math.min(0.7, ...margins.map((value) => value / 1.15));
  const high = Math.max(2, ...margins.map((value) => value * 1.15));
  const domain = [low, high] as const;
  const drawing = chart("Distance of each value from the bound of its target", (width) =>
    drawRows(
      {
        rows: targets.map((target) => ({ name: target.name, detail: describe(target) })),
        axis: (pixels) => ({ type: "log", domain, ticks: logTicks(domain, pixels / 55) }),
        along: "← misses the bound · meets it by this factor →",
        format: (x) => `${x.toLocaleString("en-US")}×`,
        rowHeight: 28,
        marks: (positions) => [
          referenceLine(1, targets, positions),
          ...targets.flatMap((target, i) => row(target, i, positions, margins[i]!)),
        ],
      },
      width,
    ),
  );
  return figure(
    "Targets",
    `How many times better each value is than its bound. Left of the line, the target is missed.${margins.includes(FAR) ? ` Factors above ${FAR}× are drawn at ${FAR}×.` : ""}`,
    drawing,
    targetTable(targets),
  );
}

/** Values, bounds and outcomes. */
function targetTable(targets: readonly Target[]): Html {
  return table(
    "Targets",
    ["Target", "Value", "Bound", "Outcome"],
    targets.map((target) => [
      target.name,
      formatValue(target),
      formatBound(target),
      outcome(target.met),
    ]),
    [3],
  );
}

function outcome(met: boolean): Html {
  return met
    ? html`<span class="met"><span aria-hidden="true">✓</span> met</span>`
    : html`<span class="missed"><span aria-hidden="true">✗</span> missed</span>`;
}

function describe(target: Target): string {
  return `${formatValue(target)}, ${formatBound(target)}`;
}

/** 1 at the bound, more if it is met; with two bounds, that of the nearer one. */
function margin({ value, least, most, met }: Target): number {
  const factors = [
    ...(least === undefined ? [] : [factor(value, least, met)]),
    ...(most === undefined ? [] : [factor(most, value, met)]),
  ];
  return Math.min(FAR, Math.max(1 / FAR, ...(factors.length > 0 ? [Math.min(...factors)] : [1])));
}

/** The ratio of the two, or the end of the axis if there is none. */
function factor(larger: number, smaller: number, met: boolean): number {
  if (larger === smaller) return 1;
  if (larger > 0 && smaller > 0) return larger / smaller;
  return met ? FAR : 1 / FAR;
}

function row(target: Target, i: number, positions: RowPositions, x: number): Markish[] {
  const color = target.met ? "var(--better)" : "var(--worse)";
  const y = positions.middle(i);
  const end = { x, from: Math.min(1, x), to: Math.max(1, x) };
  return [
    ruleY([end], { y, x1: "from", x2: "to", stroke: color, strokeWidth: 4, strokeOpacity: 0.35 }),
    dot([end], {
      x: "x",
      y,
      r: 5,
      symbol: target.met ? "circle" : "times",
      fill: target.met ? color : "none",
      stroke: color,
      strokeWidth: 2.5,
      title: () => `${target.name}: ${describe(target)}`,
    }),
  ];
}
