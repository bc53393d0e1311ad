import { markdownTable } from "markdown-table";
import { type Grid, counterGrid, measurementGrids, pairGrid, targetGrid } from "./grid.ts";
import { type Problem, describeVerdicts, targetsOf } from "./outcome.ts";
import type { Report, SuiteResult, Verdict } from "./report.ts";
import { QUICK, describeRun } from "./table.ts";
import { formatTime } from "./units.ts";

const WORDS: Readonly<Record<Verdict, string>> = {
  met: "✅ met",
  missed: "❌ MISSED",
  inconclusive: "⚠️ inconclusive",
};

/** The report for a GitHub job summary or a comment: outcomes first, measurements collapsed. */
export function renderMarkdown(report: Report, problems: readonly Problem[]): string {
  const { suites } = report;
  const failed = problems.some(({ level }) => level === "failure");
  const mark = failed ? "❌" : problems.length > 0 ? "⚠️" : "✅";
  const targets = targetsOf(suites);
  const what = suites.length === 1 ? text(suites[0]!.title) : "Benchmarks";
  const parts = [
    `## ${report.quick ? "" : `${mark} `}${what}: ${describeVerdicts(suites)}`,
    ...(report.quick ? [`_${text(QUICK)}_`] : []),
    ...list(problems.filter(({ target }) => target === undefined).map(describe)),
    ...(targets.length > 0 ? [draw(targetGrid(targets, (verdict) => WORDS[verdict]))] : []),
    ...suites.filter(({ status }) => status === "completed").map(details),
    describeRun(report).map(text).join("<br>\n"),
  ];
  return `${parts.join("\n\n")}\n`;
}

function describe({ level, suite, message }: Problem): string {
  return `${level === "failure" ? "❌" : "⚠️"} ${suite === undefined ? "" : `**${text(suite)}** `}${text(message)}`;
}

function list(items: readonly string[]): string[] {
  return items.length === 0 ? [] : [items.map((item) => `- ${item}`).join("\n")];
}

function details(suite: SuiteResult): string {
  const { pairs, counters, notes } = suite;
  return [
    `<details>\n<summary><b>${html(suite.suite)}</b>: ${html(suite.title)} (${formatTime(suite.seconds)})</summary>`,
    ...measurementGrids(suite).map(draw),
    ...(pairs.length > 0 ? [draw(pairGrid(pairs))] : []),
    ...(counters.length > 0 ? [draw(counterGrid(counters))] : []),
    ...list([...pairs.map(({ name, verdict }) => `${name}: ${verdict}`), ...notes].map(text)),
    "</details>",
  ].join("\n\n");
}

/** A table in GitHub Flavored Markdown, with its texts escaped. */
export function draw({ head, align, rows }: Grid): string {
  return markdownTable([head.map(text), ...rows.map((row) => row.map(text))], { align });
}

function html(plain: string): string {
  return plain.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

/** Escapes text for Markdown and for HTML within it. */
export function text(plain: string): string {
  return html(plain)
    .replaceAll(/[\\`*_[\]|~#]/gu, "\\$&")
    .replaceAll(/\s*\n\s*/gu, " ");
}
