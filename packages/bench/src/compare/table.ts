import { COLUMNS, EXPLANATION, rowOf, summaryOf } from "./words.ts";
import { drawGrid, plain } from "../report/draw.ts";
import type { Comparison } from "./comparison.ts";

/** As narrow as the table is. */
const WIDTH = 95;

/** A comparison for a terminal, a line each. What the tasks are is in Markdown and on the page. */
export function comparisonLines(comparison: Comparison): string[] {
  const without = (row: readonly string[]) => row.filter((_, i) => COLUMNS[i] !== "What");
  const head = without(COLUMNS);
  const rows = comparison.tasks.map((task) => without(rowOf(task)));
  return [
    ...drawGrid({ head, align: head.map(() => "left" as const), rows }, plain).split("\n"),
    "",
    ...comparison.skipped.map(({ task, reason }) => `skipped: ${task}, ${reason}`),
    ...Bun.wrapAnsi(EXPLANATION, WIDTH).split("\n"),
    "",
    ...comparison.failures.map((failure) => `FAILED: ${failure}`),
    summaryOf(comparison),
  ];
}
