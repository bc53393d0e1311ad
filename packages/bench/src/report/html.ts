import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Comparison } from "../compare/comparison.ts";
import { comparisonSection } from "./html/comparison-section.ts";
import { type Html, html, trusted } from "./html/html.ts";
import { machineSection } from "./html/machine-section.ts";
import { overview } from "./html/overview.ts";
import { suiteSection } from "./html/suite-section.ts";
import type { Report } from "./report.ts";
import { counted } from "./units.ts";

const STYLES = ["colors.css", "page.css", "narrow-and-paper.css"];

/** Nothing is loaded and no script runs, whatever text a report contains. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/**
 * Renders the report as one HTML page without network access and scripts: charts are inline SVG, each
 * with its numbers in a table. The page supports light and dark mode and printing.
 */
export function renderHtml(report: Report): string {
  const { suites, machine, calibration, version, revision, createdAt } = report;
  const dirty = revision?.endsWith("-dirty") === true ? "-dirty" : "";
  const commit = revision === undefined ? undefined : `${revision.slice(0, 12)}${dirty}`;
  const good = suites.every(
    ({ status, targets }) => status !== "failed" && targets.every(({ met }) => met),
  );
  return page({
    title: `Benchmarks of idk ${version}${commit === undefined ? "" : `, commit ${commit}`}`,
    headline: headline(report),
    good,
    subtitle: html`idk ${version}${commit !== undefined && html`, commit <code>${commit}</code>`} ·
    ${day(createdAt)}`,
    sections: [
      overview(report),
      machineSection(machine, calibration),
      suites.map((suite, i) => suiteSection(suite, i)),
    ],
  });
}

/** Renders a comparison of two revisions in the same way. */
export function renderComparisonHtml(comparison: Comparison): string {
  const { base, head, failures, tasks, machine, createdAt } = comparison;
  const outcome =
    failures.length === 0
      ? `No regression in ${counted(tasks.length, "task")}`
      : `${counted(failures.length, "regression")} in ${counted(tasks.length, "task")}`;
  return page({
    title: `Benchmarks: ${head.name} against ${base.name}`,
    headline: outcome,
    good: failures.length === 0,
    subtitle: html`${head.name} against ${base.name} · ${day(createdAt)}`,
    sections: [comparisonSection(comparison), machineSection(machine)],
  });
}

interface Page {
  readonly title: string;
  readonly headline: string;
  readonly good: boolean;
  readonly subtitle: Html;
  readonly sections: Parameters<typeof html>[1][];
}

function page({ title, headline, good, subtitle, sections }: Page): string {
  const css = STYLES.map((name) => readFileSync(join(import.meta.dir, "html", name), "utf8")).join(
    "\n",
  );
  const document = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta http-equiv="Content-Security-Policy" content="${POLICY}" />
        <title>${title}</title>
        <style>
          ${trusted(css)}
        </style>
      </head>
      <body>
        <main>
          <header>
            <p class="eyebrow">Benchmarks</p>
            <h1 class="${good ? "good" : "bad"}">${headline}</h1>
            <p class="subtitle">${subtitle}</p>
          </header>
          ${sections}
          <footer>
            <p>
              Times are medians unless stated otherwise. Intervals are bootstrap confidence
              intervals. KiB, MiB and GiB are powers of 1,024; KB, MB and GB are powers of 1,000.
            </p>
          </footer>
        </main>
      </body>
    </html> `;
  return document.markup;
}

/** The outcome in a few words. */
function headline({ suites }: Report): string {
  const targets = suites.flatMap((suite) => suite.targets);
  const missed = targets.filter(({ met }) => !met).length;
  const failed = suites.filter(({ status }) => status === "failed").length;
  const wrong = [
    ...(failed > 0 ? [`${counted(failed, "suite")} failed`] : []),
    ...(missed > 0 ? [`${missed} of ${counted(targets.length, "target")} missed`] : []),
  ];
  if (wrong.length > 0) return wrong.join(", ");
  return targets.length === 0 ? "No targets" : `All ${counted(targets.length, "target")} met`;
}

/** "21 November 2026, 14:30 UTC" */
function day(createdAt: string): string {
  const date = new Date(createdAt);
  const text = date.toLocaleString("en-GB", {
    dateStyle: "long",
    timeStyle: "short",
    timeZone: "UTC",
  });
  return `${text.replace(" at ", ", ")} UTC`;
}
