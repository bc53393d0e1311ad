import { type Markish, dot, rect, ruleY } from "@observablehq/plot";
import { type Attempt, type TaskComparison, lastAttempt } from "../../../compare/comparison.ts";
import { formatChange } from "../../units.ts";
import { type Html, html } from "../html.ts";
import { chart } from "../plot.ts";
import { figure, table } from "../table.ts";
import { formatShare, tickChange, tickCount } from "../tick-units.ts";
import { type Axis, linearAxis } from "./axis.ts";
import { type RowPositions, drawRows, referenceLine } from "./rows.ts";

/** Head against base, one row per task: the median of the rounds with its interval and tolerance. */
export function forest(tasks: readonly TaskComparison[]): Html {
  const compared = tasks.map((task) => ({ task, attempt: lastAttempt(task) }));
  const reach =
    1.12 * Math.max(0.06, ...compared.flatMap(({ attempt }) => ends(attempt).map(Math.abs)));
  const drawing = chart(
    "Change in the time of each task from base to head, with its interval",
    (width) =>
      drawRows(
        {
          rows: compared.map(({ task, attempt }) => ({
            name: task.title,
            detail: words(task, attempt),
          })),
          axis: (pixels) => changeAxis(reach, pixels / 75),
          along: "← head is faster · head is slower →",
          format: (ratio) => (ratio === 0 ? "0" : tickChange(Math.expm1(ratio))),
          rowHeight: 36,
          marks: (positions) => [
            ...compared.map(({ attempt }, i) => band(attempt, i, positions)),
            referenceLine(0, compared, positions),
            ...compared.flatMap(({ task, attempt }, i) => row(task, attempt, i, positions)),
          ],
        },
        width,
      ),
  );
  const confidence = formatShare(compared[0]?.attempt.interval.confidence ?? 0.99);
  return figure(
    "Head against base",
    `The diamond is the median change over all rounds, the bar its ${confidence} interval, and the faint dots are the rounds. A task fails only if its whole bar is to the right of the shaded tolerance.`,
    drawing,
    comparisonTable(compared),
  );
}

/** An axis of logarithms of ratios, with ticks at round percentages. */
function changeAxis(reach: number, most: number): Axis {
  const { ticks } = linearAxis(Math.expm1(-reach), Math.expm1(reach), most);
  return { type: "linear", domain: [-reach, reach], ticks: ticks.map(Math.log1p) };
}

function comparisonTable(compared: readonly { task: TaskComparison; attempt: Attempt }[]): Html {
  return table(
    "Head against base",
    [
      "Task",
      "Verdict",
      "Change",
      "from",
      "to",
      "Tolerance",
      "Noise",
      "Rounds",
      "Attempts",
      "Measured",
    ],
    compared.map(({ task, attempt }) => [
      task.title,
      verdict(task),
      change(attempt.median),
      change(attempt.interval.low),
      change(attempt.interval.high),
      change(attempt.tolerance),
      change(attempt.noise),
      tickCount(attempt.rounds.length),
      tickCount(task.attempts.length),
      task.bound === "cpu" ? "CPU time" : "elapsed time",
    ]),
    [1, 9],
  );
}

function verdict({ verdict, passed }: TaskComparison): Html {
  return passed
    ? html`<span class="met"><span aria-hidden="true">✓</span> ${verdict}</span>`
    : html`<span class="missed"><span aria-hidden="true">✗</span> ${verdict}</span>`;
}

function words({ verdict }: TaskComparison, { median }: Attempt): string {
  return `${change(median)}, ${verdict}`;
}

function change(ratio: number): string {
  return formatChange(Math.expm1(ratio));
}

function ends({ interval, tolerance, median }: Attempt): number[] {
  return [interval.low, interval.high, median, tolerance];
}

function band({ tolerance }: Attempt, i: number, positions: RowPositions): Markish {
  const box = { x1: -tolerance, x2: tolerance, y1: positions.top(i), y2: positions.bottom(i) };
  return rect([box], { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "var(--band)" });
}

function row(
  task: TaskComparison,
  attempt: Attempt,
  i: number,
  positions: RowPositions,
): Markish[] {
  const { median, interval, ratios } = attempt;
  const [top, bottom, y] = [positions.top(i), positions.bottom(i), positions.middle(i)];
  const color =
    task.verdict === "slower"
      ? "var(--worse)"
      : task.verdict === "faster"
        ? "var(--better)"
        : "var(--neutral)";
  const spread = (_: number, i: number) => top + (bottom - top) * ((i * 0.618_034 + 0.2) % 1);
  return [
    dot(ratios, { x: (ratio: number) => ratio, y: spread, r: 2, fill: color, fillOpacity: 0.35 }),
    ruleY([interval], { y, x1: "low", x2: "high", stroke: color, strokeWidth: 5 }),
    dot([median], {
      x: (ratio: number) => ratio,
      y,
      symbol: "diamond",
      r: 6,
      fill: color,
      stroke: "var(--surface)",
      strokeWidth: 1.5,
      title: () => `${task.title}: ${words(task, attempt)}`,
    }),
  ];
}
