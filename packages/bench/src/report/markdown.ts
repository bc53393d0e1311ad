import { markdownTable } from "markdown-table";
import {
  BOUND_LEGEND,
  type Grid,
  measurementGrid,
  pairGrid,
  targetGrid,
  targetsOf,
} from "./grid.ts";
import type { Report, SuiteResult } from "./report.ts";
import { QUICK, describeMachine, describeRates, describeVersion } from "./table.ts";
import { counted, formatTime } from "./units.ts";

/** The report for a GitHub job summary: outcomes first, measurements collapsed. */
export function renderMarkdown(report: Report): string {
  const { suites } = report;
  const targets = targetsOf(suites);
  const met = targets.filter((target) => target.met).length;
  const withStatus = (wanted: SuiteResult["status"]): SuiteResult[] =>
    suites.filter(({ status }) => status === wanted);
  const parts = [
    `## Benchmarks: ${met} of ${counted(targets.length, "target")} met`,
    ...(report.quick ? [`_${text(QUICK)}_`] : []),
    ...list([...withStatus("failed"), ...withStatus("skipped")].map(unfinished)),
  ];
  if (targets.length > 0) {
    // Missed targets come first.
    const sorted = targets.toSorted((a, b) => Number(a.met) - Number(b.met));
    parts.push(draw(targetGrid(sorted, (met) => (met ? "✅ met" : "❌ MISSED"))));
  }
  parts.push(...withStatus("completed").map(details(report)));
  parts.push(
    [describeVersion(report), describeMachine(report.machine), describeRates(report)]
      .map(text)
      .join("<br>\n"),
  );
  return `${parts.join("\n\n")}\n`;
}

function unfinished({ suite, status, reason = "" }: SuiteResult): string {
  return `${status === "failed" ? "❌" : "⚠️"} **${text(suite)}** ${status}: ${text(reason)}`;
}

function list(items: readonly string[]): string[] {
  return items.length === 0 ? [] : [items.map((item) => `- ${item}`).join("\n")];
}

function details({ calibration }: Report): (suite: SuiteResult) => string {
  return (suite) => {
    const { measurements, pairs, notes } = suite;
    const parts = [
      `<details>\n<summary><b>${html(suite.suite)}</b>: ${html(suite.title)} (${formatTime(suite.seconds)})</summary>`,
      ...(measurements.length > 0 ? [draw(measurementGrid(suite, calibration))] : []),
      ...(measurements.some(({ bytesPerOperation }) => bytesPerOperation)
        ? [`_${text(BOUND_LEGEND)}_`]
        : []),
      ...(pairs.length > 0 ? [draw(pairGrid(pairs))] : []),
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
