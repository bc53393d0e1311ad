import { markdownTable } from "markdown-table";
import { type Grid, markedRows, outcomeGrid } from "./grid.ts";
import { type Problem, TONES, type Tone, conclude, describeRun } from "./outcome.ts";
import type { Report } from "./report.ts";

const MARKS: Readonly<Record<Tone, string>> = {
  good: "✅",
  unclear: "⚠️",
  bad: "❌",
  absent: "➖",
};

/**
 * The outcome for a GitHub job summary or a comment: problems, all targets, and the notes of a comparison.
 * The rest is left to the page, because that of all suites is longer than a comment may be.
 */
export function renderMarkdown(report: Report, problems: readonly Problem[]): string {
  const { tone, headline } = conclude(report, problems);
  const outcome = outcomeGrid(report.suites);
  // Problems with targets are in their table.
  const others = problems.filter(({ target }) => target === undefined);
  const items = others.map(({ level, suite, message }) => {
    const subject = suite === undefined ? "" : `**${text(suite)}** `;
    return `- ${MARKS[TONES[level]]} ${subject}${text(message)}`;
  });
  const parts = [
    `## ${MARKS[tone]} ${text(headline)}`,
    items.join("\n"),
    outcome.rows.length > 0 && draw(outcome),
    ...report.suites.flatMap(({ comparison, notes }) => (comparison ? notes.map(text) : [])),
    describeRun(report).map(text).join("<br>\n"),
  ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

/** A table in GitHub Flavored Markdown, with its texts escaped. */
export function draw(grid: Grid): string {
  const rows = markedRows(grid, (tone, verdict) => `${MARKS[tone]} ${verdict}`);
  return markdownTable(
    [grid.head, ...rows].map((row) => row.map(text)),
    { align: grid.align },
  );
}

/** Escapes text for Markdown and for HTML within it. */
export function text(plain: string): string {
  return plain
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(/[\\`*_[\]|~#]/gu, "\\$&")
    .replaceAll(/\s*\n\s*/gu, " ");
}
