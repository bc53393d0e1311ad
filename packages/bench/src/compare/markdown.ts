import { COLUMNS, EXPLANATION, rowOf, summaryOf } from "./words.ts";
import type { Comparison } from "./comparison.ts";
import { markdownTable } from "markdown-table";

/** A comparison for the summary of a job or a comment. */
export function comparisonMarkdown(comparison: Comparison): string {
  const { failures, skipped, tasks, seed, seconds } = comparison;
  const lines = [
    `### ${failures.length === 0 ? "✅" : "❌"} ${plain(summaryOf(comparison))}`,
    "",
    ...failures.map((failure) => `- **${plain(failure)}**`),
    ...(failures.length > 0 ? [""] : []),
    markdownTable([COLUMNS, ...tasks.map((task) => rowOf(task).map(plain))]),
    "",
    ...skipped.map(({ task, reason }) => `- skipped: ${plain(task)}, ${plain(reason)}`),
    ...(skipped.length > 0 ? [""] : []),
    `${EXPLANATION} Seed ${seed}, ${Math.round(seconds)} s.`,
    "",
  ];
  return lines.join("\n");
}

/** Names of branches are others' text, and may hold what Markdown reads as its own. */
function plain(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>|]/gu, String.raw`\$&`);
}
