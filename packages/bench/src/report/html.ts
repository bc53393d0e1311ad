/**
 * A report as one page without network access and scripts: charts are inline SVG. It supports light and
 * dark mode, phones and printing.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Grid, markedRows, outcomeGrid, partsOf, rateOf } from "./grid.ts";
import { memoryChart, ratesCharts } from "./html/chart.ts";
import { type Html, type Part, html, trusted } from "./html/html.ts";
import {
  type Problem,
  TONES,
  type Tone,
  conclude,
  describeProblem,
  describeRun,
  describeStatus,
  subjectOf,
} from "./outcome.ts";
import type { Report, SuiteResult } from "./report.ts";
import { formatRate } from "./units.ts";

/** Nothing is loaded and no script runs, whatever text a report contains. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

const MARKS: Readonly<Record<Tone, string>> = { good: "✓", unclear: "?", bad: "✗", absent: "–" };

export function renderHtml(report: Report, problems: readonly Problem[]): string {
  const { suites } = report;
  const { headline, tone } = conclude(report, problems);
  const about = describeRun(report);
  const outcome = outcomeGrid(suites);
  const css = readFileSync(join(import.meta.dirname, "html/page.css"), "utf8");
  const listed = problems.map((problem) => {
    const at = suites.findIndex(({ suite }) => suite === problem.suite);
    const subject = subjectOf(problem);
    return html`<b class="${TONES[problem.level]}">${problem.level}</b>
      ${at >= 0 ? html`<a href="#suite-${at}">${subject}</a>` : subject} ${describeProblem(problem)}`;
  });
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="Content-Security-Policy" content="${POLICY}" />
        <title>Benchmarks of ${about[0]}</title>
        <style>
          ${trusted(css)}
        </style>
      </head>
      <body>
        <main>
          <h1 class="${tone}">${headline}</h1>
          ${fastest(suites)}
          <p class="muted">${about.map((line) => html`${line}<br />`)}</p>
          ${list(listed, "problems")}
          ${outcome.rows.length > 0 && table(outcome, "targets of all suites")}
          ${suites.map(section)}
        </main>
      </body>
    </html> `.markup;
}

/** Series of puts and gets of the library, without bare requests and those straight to a store. */
const DIRECTIONS = { put: /^(?:put|up)\b(?!.*direct)/u, get: /^(?:get|down)\b(?!.*direct)/u };

/** The highest rates of puts and gets, with what was measured. */
function fastest(suites: readonly SuiteResult[]): Html[] {
  const rates = suites.flatMap(({ suite, measurements }) =>
    measurements.map((one) => ({ ...one, suite, rate: rateOf(one) ?? 0 })),
  );
  return Object.entries(DIRECTIONS).flatMap(([direction, pattern]) => {
    const own = rates.filter(({ series, rate }) => pattern.test(series) && rate > 0);
    const [best] = own.toSorted((a, b) => b.rate - a.rate);
    if (best === undefined) return [];
    return html`<p class="rate">
      <b>${direction} ${formatRate(best.rate)}</b>
      <span class="muted">${best.name}, ${best.suite}</span>
    </p>`;
  });
}

function section(result: SuiteResult, i: number): Html {
  const { suite, title, status, measurements } = result;
  const { grids, sentences } = partsOf(result);
  return html`<section id="suite-${i}">
    <h2>${suite}</h2>
    <p>${title}, <span class="${TONES[status]}">${describeStatus(result)}</span></p>
    ${grids.map((grid) => table(grid, `${suite}: ${grid.head[0]}`))} ${ratesCharts(measurements)}
    ${memoryChart(measurements)} ${list(sentences)}
  </section>`;
}

function list(items: readonly Part[], kind: string = ""): Html | false {
  return (
    items.length > 0 &&
    html`<ul class="${kind}">
      ${items.map((item) => html`<li>${item}</li>`)}
    </ul>`
  );
}

/** @param label for screen readers */
function table(grid: Grid, label: string): Html {
  const { head, align, tones = [] } = grid;
  const rows = markedRows(grid, (tone, verdict) => `${MARKS[tone]} ${verdict}`);
  const cell = (text: string, column: number, tone: Tone | undefined): Html => {
    if (column === 0) return html`<th scope="row">${text}</th>`;
    const kind = `${align[column]} ${(column === 1 && tone) || ""}`.trimEnd();
    // Without spaces around the text: empty cells are hidden on narrow screens.
    return html`<td class="${kind}" data-title="${head[column]}">${text}</td>`;
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${label}">
    <table>
      <thead>
        <tr>
          ${head.map((title, i) => html`<th scope="col" class="${align[i]}">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row, at) =>
            html`<tr>
              ${row.map((text, column) => cell(text, column, tones[at]))}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`;
}
