import { expect, test } from "bun:test";
import { parseHTML } from "linkedom";
import { comparisonSchema } from "../../src/compare/comparison.ts";
import { renderComparisonHtml, renderHtml } from "../../src/report/html.ts";
import { reportSchema } from "../../src/report/schema.ts";
import { hostile } from "./hostile.ts";
import { sampleComparison } from "./sample-comparison.ts";
import { sampleReport } from "./sample.ts";

const report = sampleReport();
const comparison = sampleComparison();
const page = renderHtml(report);
const { document } = parseHTML(page);
const comparisonPage = renderComparisonHtml(comparison);
const comparisonDocument = parseHTML(comparisonPage).document;

const textOf = (selector: string, root: Document = document) =>
  [...root.querySelectorAll(selector)].map(({ textContent }) => textContent.trim());

test("the samples match their schemas", () => {
  expect(reportSchema.parse(report)).toEqual(report);
  expect(comparisonSchema.parse(comparison)).toEqual(comparison);
});

test("the page has no script, loads nothing, and has a policy that forbids both", () => {
  expect(document.querySelectorAll("script, link, img, iframe, object, image")).toHaveLength(0);
  expect(/(?:src|srcset|xlink:href|action|poster)=/u.test(page)).toBe(false);
  expect(/@import|url\(/u.test(page)).toBe(false);
  const links = [...document.querySelectorAll("a")].map((a) => a.getAttribute("href") ?? "");
  expect(links.filter((href) => !href.startsWith("#suite-"))).toEqual([]);
  for (const href of links) expect(document.querySelector(href)).not.toBeNull();
  const policy = document.querySelector("meta[http-equiv='Content-Security-Policy']");
  expect(policy?.getAttribute("content")).toBe("default-src 'none'; style-src 'unsafe-inline'");
  expect(page.length).toBeLessThan(1_000_000);
});

test("missed targets and failed and skipped suites are at the top and in the headline", () => {
  expect(textOf("h1")).toEqual(["1 suite failed, 1 of 8 targets missed"]);
  const callouts = textOf("section:first-of-type .callouts li");
  expect(callouts).toEqual([
    "sse-overhead: overhead of an upload is 1.31; the target is at most 1.25",
    "encryption-perf skipped: no object store: start one with script/minio",
    "blob-pipeline failed: the store answered 503 Slow Down to every one of 5 tries",
  ]);
  expect(page.includes("Quick run.")).toBe(false);
  expect(renderHtml({ ...report, quick: true }).includes("Quick run.")).toBe(true);
});

test("the headline reports that all targets are met", () => {
  const suites = report.suites.filter(({ suite }) => ["hash-perf", "scaling"].includes(suite));
  expect(
    renderHtml({ ...report, suites }).includes(`<h1 class="good">All 5 targets met</h1>`),
  ).toBe(true);
  expect(renderHtml({ ...report, suites: [] }).includes("No targets")).toBe(true);
});

test("every chart is drawn in both widths and has a label and a table", () => {
  const roots = [comparisonDocument, document];
  const figures = roots.flatMap((root) => [...root.querySelectorAll("figure")]);
  const sections = roots.flatMap((root) => Array.from(root.querySelectorAll("section")));
  const titles = sections.map((section) =>
    [...section.querySelectorAll("figure h3")].map(({ textContent }) => textContent).join(", "),
  );
  expect(titles.filter((title) => title !== "")).toEqual([
    "Head against base",
    "Targets, Throughput by size, Time of single operations",
    "Targets, Paired differences, Time of single operations",
    "Targets, Throughput by size, Peak memory by size, Time of single operations, Memory over time",
    "Throughput by size, Time of single operations",
    "Targets, Time by recipients, Time of single operations",
  ]);
  for (const figure of figures) {
    const drawings = [...figure.querySelectorAll("svg")];
    expect(drawings.map((svg) => svg.getAttribute("class"))).toEqual(["wide", "narrow"]);
    for (const svg of drawings) {
      expect(svg.getAttribute("role")).toBe("img");
      expect(svg.getAttribute("aria-label")).not.toBeEmpty();
    }
    expect(figure.querySelectorAll("table tbody tr").length).toBeGreaterThan(0);
  }
});

test("tables and verdicts match the report", () => {
  const overhead = report.suites[1]!;
  const rows = textOf("#suite-1 tbody tr");
  for (const { name, distribution } of overhead.measurements) {
    const row = rows.find((text) => text.startsWith(`${name}120`));
    expect(row).toContain(`${(distribution.p50 * 1000).toFixed(1)} ms`);
  }
  const verdicts = overhead.pairs.map(({ name, verdict }) => `${name}: ${verdict}`);
  expect(textOf("#suite-1 .verdicts li")).toEqual(verdicts);
  expect(textOf("#suite-1 .notes li")).toEqual([...overhead.notes]);
  const slower = textOf("#comparison details tbody tr", comparisonDocument)[0];
  expect(slower).toMatch(/^Seal 1 MiB\s*✗ worse\s*CPU time\s*\+2\d\.\d %/u);
});

test("no text becomes markup", () => {
  const poisoned = renderHtml(hostile(report));
  const poisonedComparison = renderComparisonHtml(hostile(comparison));
  const other = parseHTML(poisoned).document;
  // The number of ticks depends on the lengths of names, but the kinds of elements do not.
  const kinds = (root: Document) => [
    [...root.querySelectorAll(":not(svg *)")].map(({ localName }) => localName),
    new Set([...root.querySelectorAll("svg *")].map(({ localName }) => localName)),
  ];
  expect(kinds(other)).toEqual(kinds(document));
  expect(kinds(parseHTML(poisonedComparison).document)).toEqual(kinds(comparisonDocument));
  expect((poisoned + poisonedComparison).includes("<script>")).toBe(false);
  expect(other.querySelector("#suite-0 h2")?.textContent).toContain(`<script>document.title="ran"`);
});

test("a comparison has its own page", () => {
  expect(comparisonPage.includes(`<h1 class="bad">2 regressions in 4 tasks</h1>`)).toBe(true);
  const passed = renderComparisonHtml({ ...comparison, failures: [] });
  expect(passed.includes(`<h1 class="good">No regression in 4 tasks</h1>`)).toBe(true);
  expect(passed.includes("The gate passes:")).toBe(true);
});
