import { type Markish, dot, rect, ruleY } from "@observablehq/plot";
import {
  type Estimate,
  QUANTITIES,
  QUANTITY_WORDS,
  type Quantity,
  type TaskComparison,
  type Verdict,
  estimatesOf,
} from "../../../compare/comparison.ts";
import { LIMITS, ratioOf } from "../../../compare/decide.ts";
import { formatChange } from "../../units.ts";
import { type Html, html } from "../html.ts";
import { chart } from "../plot.ts";
import { figure, table } from "../table.ts";
import { formatShare, tickChange, tickCount } from "../tick-units.ts";
import { type Axis, linearAxis } from "./axis.ts";
import { type RowPositions, drawRows, referenceLine } from "./rows.ts";

interface Row {
  readonly task: TaskComparison;
  readonly quantity: Quantity;
  readonly estimate: Estimate;
  /** ln(head / base) of each pair. */
  readonly ratios: readonly number[];
}

/** Head against base, one row per task: the change in CPU time with its interval and tolerance. */
export function forest(tasks: readonly TaskComparison[]): Html {
  const all = tasks.flatMap((task) =>
    estimatesOf(task).map((estimate, i): Row => {
      const quantity = QUANTITIES[i]!;
      const ratios = task.attempts.at(-1)!.pairs.map((pair) => ratioOf(pair, quantity));
      return { task, quantity, estimate, ratios };
    }),
  );
  const compared = all.filter(({ quantity }) => quantity === "cpu");
  const reach =
    1.12 * Math.max(0.06, ...compared.flatMap(({ estimate }) => ends(estimate).map(Math.abs)));
  const drawing = chart(
    "Change in the CPU time of each task from base to head, with its interval",
    (width) =>
      drawRows(
        {
          rows: compared.map(({ task, estimate }) => ({
            name: task.title,
            detail: words(estimate),
          })),
          axis: (pixels) => changeAxis(reach, pixels / 75),
          along: "← head takes less · head takes more →",
          format: (ratio) => (ratio === 0 ? "0" : tickChange(Math.expm1(ratio))),
          rowHeight: 36,
          marks: (positions) => [
            ...compared.map((_, i) => band(i, positions)),
            referenceLine(0, compared, positions),
            ...compared.flatMap((each, i) => row(each, i, positions)),
          ],
        },
        width,
      ),
  );
  const confidence = formatShare(compared[0]?.estimate.interval.confidence ?? 0.99);
  return figure(
    "Head against base",
    `CPU time; the table has elapsed time and peak memory too. The diamond is the mean change over all pairs of processes, the bar its ${confidence} interval, and the faint dots are the pairs. A task fails only if its whole bar is to the right of the shaded tolerance.`,
    drawing,
    comparisonTable(all),
  );
}

/** An axis of logarithms of ratios, with ticks at round percentages. */
function changeAxis(reach: number, most: number): Axis {
  const { ticks } = linearAxis(Math.expm1(-reach), Math.expm1(reach), most);
  return { type: "linear", domain: [-reach, reach], ticks: ticks.map(Math.log1p) };
}

function comparisonTable(all: readonly Row[]): Html {
  return table(
    "Head against base",
    ["Task", "Verdict", "Quantity", "Change", "from", "to", "Pairs", "Attempts"],
    all.map(({ task, quantity, estimate, ratios }) => [
      task.title,
      verdict(estimate),
      QUANTITY_WORDS[quantity],
      change(estimate.ratio),
      change(estimate.interval.low),
      change(estimate.interval.high),
      tickCount(ratios.length),
      tickCount(task.attempts.length),
    ]),
    [1, 2],
  );
}

function verdict({ verdict }: Estimate): Html {
  const [kind, mark] =
    verdict === "worse"
      ? ["missed", "✗"]
      : verdict === "inconclusive"
        ? ["quiet", "?"]
        : ["met", "✓"];
  return html`<span class="${kind}"><span aria-hidden="true">${mark}</span> ${verdict}</span>`;
}

function words({ ratio, verdict }: Estimate): string {
  return `${change(ratio)}, ${verdict}`;
}

function change(ratio: number): string {
  return formatChange(Math.expm1(ratio));
}

function ends({ interval, ratio }: Estimate): number[] {
  return [interval.low, interval.high, ratio, LIMITS.cpu.tolerance];
}

function band(i: number, positions: RowPositions): Markish {
  const { tolerance } = LIMITS.cpu;
  const box = { x1: -tolerance, x2: tolerance, y1: positions.top(i), y2: positions.bottom(i) };
  return rect([box], { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "var(--band)" });
}

const COLORS: ReadonlyMap<Verdict, string> = new Map([
  ["worse", "var(--worse)"],
  ["better", "var(--better)"],
]);

function row({ task, estimate, ratios }: Row, i: number, positions: RowPositions): Markish[] {
  const { ratio: centre, interval } = estimate;
  const [top, bottom, y] = [positions.top(i), positions.bottom(i), positions.middle(i)];
  const color = COLORS.get(estimate.verdict) ?? "var(--neutral)";
  const spread = (_: number, i: number) => top + (bottom - top) * ((i * 0.618_034 + 0.2) % 1);
  return [
    dot(ratios, { x: (ratio: number) => ratio, y: spread, r: 2, fill: color, fillOpacity: 0.35 }),
    ruleY([interval], { y, x1: "low", x2: "high", stroke: color, strokeWidth: 5 }),
    dot([centre], {
      x: (ratio: number) => ratio,
      y,
      symbol: "diamond",
      r: 6,
      fill: color,
      stroke: "var(--surface)",
      strokeWidth: 1.5,
      title: () => `${task.title}: ${words(estimate)}`,
    }),
  ];
}
