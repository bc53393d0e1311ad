import { markdownTable } from "markdown-table";
import {
  BOUND_LEGEND,
  type Grid,
  measurementGrids,
  pairGrid,
  counterGrid,
  targetGrid,
} from "./grid.ts";
import { type Problem, targetsOf } from "./outcome.ts";
import type { Report, SuiteResult, Target, Verdict } from "./report.ts";
import { QUICK, describeMachine, describeRates, describeVersion } from "./table.ts";
import { counted, formatTime } from "./units.ts";

const WORDS: Readonly<Record<Verdict, string>> = {
  met: "✅ met",
  missed: "❌ MISSED",
  inconclusive: "⚠️ inconclusive",
};

/** Missed targets come first. */
const ORDER: readonly Verdict[] = ["missed", "inconclusive", "met"];

/** The report for a GitHub job summary: outcomes first, measurements collapsed. */
export function renderMarkdown(report: Report, problems: readonly Problem[]): string {
  const { suites } = report;
  const targets = targetsOf(suites);
  const met = targets.filter(({ verdict }) => verdict === "met").length;
  const rank = ({ verdict }: Target): number => ORDER.indexOf(verdict);
  const completed = suites.filter(({ status }) => status === "completed");
  const parts = [
    `## Benchmarks: ${met} of ${counted(targets.length, "target")} met`,
    ...(report.quick ? [`_${text(QUICK)}_`] : []),
    ...list(problems.filter(({ target }) => target === undefined).map(describe)),
    ...(targets.length > 0
      ? [
          draw(
            targetGrid(
              targets.toSorted((a, b) => rank(a) - rank(b)),
              (verdict) => WORDS[verdict],
            ),
          ),
        ]
      : []),
    ...completed.map(details(report)),
    [describeVersion(report), describeMachine(report.machine), describeRates(report)]
      .map(text)
      .join("<br>\n"),
  ];
  return `${parts.join("\n\n")}\n`;
}

function describe({ level, suite, message }: Problem): string {
  return `${level === "failure" ? "❌" : "⚠️"} ${suite === undefined ? "" : `**${text(suite)}** `}${text(message)}`;
}

function list(items: readonly string[]): string[] {
  return items.length === 0 ? [] : [items.map((item) => `- ${item}`).join("\n")];
}

function details({ calibration }: Report): (suite: SuiteResult) => string {
  return (suite) => {
    const { measurements, pairs, counters, notes } = suite;
    const parts = [
      `<details>\n<summary><b>${html(suite.suite)}</b>: ${html(suite.title)} (${formatTime(suite.seconds)})</summary>`,
      ...measurementGrids(suite, calibration).map(draw),
      ...(measurements.some(({ bytesPerOperation }) => bytesPerOperation)
        ? [`_${text(BOUND_LEGEND)}_`]
        : []),
      ...(pairs.length > 0 ? [draw(pairGrid(pairs))] : []),
      ...(counters.length > 0 ? [draw(counterGrid(counters))] : []),
      ...list([...pairs.map(({ name, verdict }) => `${name}: ${verdict}`), ...notes].map(text)),
      "</details>",
    ];
    return parts.join("\n\n");
  };
}

/** A table in GitHub Flavored Markdown, with its texts escaped. */
export function draw({ head, align, rows }: Grid): string {
  return markdownTable([head.map(text), ...rows.map((row) => row.map(text))], { align });
}

/** Escapes text for HTML. */
function html(plain: string): string {
  return plain.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

/** Escapes text for Markdown and for HTML within it. */
export function text(plain: string): string {
  return html(plain)
    .replaceAll(/[\\`*_[\]|~#]/gu, "\\$&")
    .replaceAll(/\s*\n\s*/gu, " ");
}
