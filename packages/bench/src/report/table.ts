/** A report on a terminal, part by part as it is measured. */
import { type Paint, drawGrid, plain } from "./draw.ts";
import { partsOf, targetGrid } from "./grid.ts";
import {
  type Problem,
  TONES,
  conclude,
  describeProblem,
  describeStatus,
  subjectOf,
} from "./outcome.ts";
import type { Report, SuiteResult } from "./report.ts";

/** @param width of the terminal in characters, by default unlimited */
export function renderSuite(
  suite: SuiteResult,
  paint: Paint = plain,
  width: number = 10_000,
): string {
  const { grids, sentences } = partsOf(suite, true);
  const targets = suite.targets.length > 0 ? [targetGrid(suite.targets)] : [];
  const title = `${paint("bold", suite.suite)}  ${suite.title}`;
  const wrapped = sentences.map((sentence) => {
    const text = Bun.wrapAnsi(sentence, Math.max(width - 4, 20));
    return `  ${text.replaceAll("\n", "\n    ")}`;
  });
  return [
    `${title}\n  ${paint(TONES[suite.status], describeStatus(suite))}`,
    ...[...grids, ...targets].map((grid) => drawGrid(grid, paint, width)),
    ...(wrapped.length > 0 ? [wrapped.join("\n")] : []),
  ].join("\n\n");
}

/** The summary, and every problem. */
export function renderOutcome(
  report: Report,
  problems: readonly Problem[],
  paint: Paint = plain,
): string {
  const { tone, headline } = conclude(report, problems);
  const lines = problems.map((problem) => {
    const { level } = problem;
    const word = paint(TONES[level], level === "failure" ? "FAILED" : level);
    return [word, subjectOf(problem), describeProblem(problem)].filter(Boolean).join(" ");
  });
  return [paint(tone, headline), ...lines].join("\n");
}
