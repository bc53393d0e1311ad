import { COLUMNS, EXPLANATION, rowOf, summaryOf } from "./words.ts";
import type { Comparison } from "./comparison.ts";
import Table from "cli-table3";

/** A comparison for a terminal, a line each. */
export function comparisonLines(comparison: Comparison): string[] {
  const table = new Table({ head: [...COLUMNS], style: { head: [], border: [] } });
  for (const task of comparison.tasks) table.push(rowOf(task));
  return [
    ...table.toString().split("\n"),
    ...comparison.skipped.map(({ task, reason }) => `skipped: ${task}, ${reason}`),
    EXPLANATION,
    "",
    ...comparison.failures.map((failure) => `FAILED: ${failure}`),
    summaryOf(comparison),
  ];
}
