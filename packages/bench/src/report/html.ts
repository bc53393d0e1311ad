/**
 * A report as one page without network access and scripts: charts are inline SVG. It supports light and
 * dark mode, phones and printing.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sizeName } from "../harness/content.ts";
import { type Grid, counterGrid, measurementGrid, pairGrid, rateOf, targetGrid } from "./grid.ts";
import { type Point, lineChart } from "./html/chart.ts";
import { type Html, type Part, html, trusted } from "./html/html.ts";
import {
  type Problem,
  describeProblem,
  describeVerdicts,
  subjectOf,
  targetsOf,
} from "./outcome.ts";
import type { Measurement, Report, SuiteResult, Verdict } from "./report.ts";
import { QUICK, describeRun } from "./table.ts";
import { formatRate, formatTime } from "./units.ts";

/** Nothing is loaded and no script runs, whatever text a report contains. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

const MARKS: Readonly<Record<Verdict, string>> = {
  met: "✓ met",
  missed: "✗ missed",
  inconclusive: "? inconclusive",
};

export function renderHtml(report: Report, problems: readonly Problem[]): string {
  const { suites, quick } = report;
  const about = describeRun(report);
  const failed = problems.some(({ level }) => level === "failure");
  const targets = targetsOf(suites);
  const passed = problems.length === 0 ? "Passed" : "Passed with warnings";
  const word = failed ? "Failed" : quick || targets.length === 0 ? "Not judged" : passed;
  const verdicts = targets.map(({ verdict }) => verdict);
  return page({
    title: `Benchmarks of ${about[0]}`,
    headline: `${word}: ${describeVerdicts(suites)}`,
    tone: failed ? "bad" : word === "Passed" ? "good" : "unclear",
    about,
    body: html`${fastest(suites)} ${quick && html`<p class="warning"><b>${QUICK}</b></p>`}
    ${list(
      "problems",
      problems.map((problem) => {
        const at = suites.findIndex(({ suite }) => suite === problem.suite);
        const subject = subjectOf(problem);
        return html`<li class="${problem.level}">
          ${at >= 0 ? html`<a href="#suite-${at}">${subject}</a>` : subject}
          ${describeProblem(problem)}
        </li>`;
      }),
    )}
    ${
      targets.length > 0 &&
      table(
        "Targets",
        targetGrid(targets, (verdict) => MARKS[verdict]),
        verdicts,
      )
    }
    ${suites.map(suiteSection)}`,
  });
}

/** The fastest put and get of the run. */
function fastest(suites: readonly SuiteResult[]): Html {
  const measurements = suites.flatMap((suite) => suite.measurements);
  const rate = (one: Measurement): number => rateOf(one) ?? 0;
  const facts = ["put", "get"].flatMap((series) => {
    const own = measurements.filter((one) => one.series === series && rate(one) > 0);
    const [best] = own.toSorted((a, b) => rate(b) - rate(a));
    return best === undefined ? [] : [`${best.name}: ${formatRate(rate(best))}`];
  });
  return html`<p class="rates">${facts.join(" · ")}</p>`;
}

function suiteSection(result: SuiteResult, i: number): Html {
  const { suite, title, status, reason, seconds, measurements, pairs, counters, notes } = result;
  const verdicts = pairs.map(({ name, verdict }) => html`<li><b>${name}:</b> ${verdict}</li>`);
  return html`<section id="suite-${i}">
    <h2>${suite}</h2>
    <p class="muted">
      ${title}${status === "completed" && `, completed in ${formatTime(seconds)}`}
    </p>
    ${status !== "completed" && html`<p class="${status === "failed" ? "failure" : "warning"}"><b>${status}:</b> ${reason}</p>`}
    ${measurements.length > 0 && table("Measurements", measurementGrid(result))}
    ${ratesChart(measurements)} ${memoryChart(measurements)}
    ${pairs.length > 0 && table("Pairs", pairGrid(pairs))} ${list("", verdicts)}
    ${counters.length > 0 && table("Counters", counterGrid(counters))}
    ${list(
      "",
      notes.map((note) => html`<li>${note}</li>`),
    )}
  </section>`;
}

/** Rates by size, or by number of threads or the like, of the series that have several. */
function ratesChart(measurements: readonly Measurement[]): Html[] {
  const points = measurements.flatMap(({ series, x, bytesPerOperation: bytes, distribution }) => {
    const { p50, interval } = distribution;
    if (!x || !bytes || interval.low <= 0) return [];
    const [y, low, high] = [p50, interval.high, interval.low].map((time) => bytes / time / 1e6);
    return [{ series, unit: x.unit, x: x.value, y: y!, low: low!, high: high! }];
  });
  return [...new Set(points.map(({ unit }) => unit))].flatMap((unit) => {
    const own = points.filter((point) => point.unit === unit);
    const drawn = own.filter(({ series, x }) =>
      own.some((other) => other.series === series && other.x !== x),
    );
    if (drawn.length === 0) return [];
    const [label, formatX] = unit === "bytes" ? ["size", sizeName] : [unit, String];
    return [lineChart({ label: `Rate by ${label}, MB/s`, points: drawn, kind: "steps", formatX })];
  });
}

/** More lines could not be told apart, and more points than pixels only make the page larger. */
const LINES_MOST = 10;
const POINTS_MOST = 160;

/** Resident memory over time, of the longest measurements. */
function memoryChart(measurements: readonly Measurement[]): Html | undefined {
  const recorded = measurements
    .flatMap(({ name, memory = [] }) => (memory.length < 2 ? [] : [{ name, memory }]))
    .toSorted((a, b) => b.memory.at(-1)!.at - a.memory.at(-1)!.at);
  if (recorded.length === 0) return undefined;
  const points = recorded.slice(0, LINES_MOST).flatMap(({ name, memory }): Point[] => {
    const stride = Math.ceil(memory.length / POINTS_MOST);
    const kept = memory.filter((_, i) => i % stride === 0 || i === memory.length - 1);
    return kept.map(({ at, rss }) => ({ series: name, x: at, y: rss / 2 ** 20 }));
  });
  const label = `Resident memory over time, MiB${recorded.length > LINES_MOST ? `; the ${LINES_MOST} longest of ${recorded.length}` : ""}`;
  const formatX = (x: number): string => `${Number(x.toPrecision(3))} s`;
  return lineChart({ label, points, kind: "time", formatX });
}

function list(kind: string, items: readonly Html[]): Html | false {
  return (
    items.length > 0 &&
    html`<ul class="${kind}">
      ${items}
    </ul>`
  );
}

/** @param classes of the rows, which colour the second column */
function table(
  caption: string,
  { head, align, rows }: Grid,
  classes: readonly string[] = [],
): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${head.map((title, i) => html`<th scope="col" class="${align[i]}">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row, at) =>
            html`<tr class="${classes[at] ?? ""}">
              ${row.map((cell, i) =>
                i === 0
                  ? html`<th scope="row">${cell}</th>`
                  : html`<td class="${align[i]}">${cell}</td>`,
              )}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`;
}

interface Page {
  readonly title: string;
  readonly headline: string;
  readonly tone: "good" | "unclear" | "bad";
  readonly about: readonly string[];
  readonly body: Part;
}

function page({ title, headline, tone, about, body }: Page): string {
  const css = readFileSync(join(import.meta.dirname, "html/page.css"), "utf8");
  return html`<!doctype html>
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
          <h1 class="${tone}">${headline}</h1>
          <p class="muted">${about.map((line) => html`${line}<br />`)}</p>
          ${body}
        </main>
      </body>
    </html> `.markup;
}
