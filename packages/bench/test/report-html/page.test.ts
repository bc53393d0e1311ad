import { expect, test } from "bun:test";
import { parseHTML } from "linkedom";
import { renderHtml } from "../../src/report/html.ts";
import { reportSchema, type SuiteResult } from "../../src/report/report.ts";
import { hostile } from "./hostile.ts";
import { problemsIn, sampleReport } from "./sample.ts";

const report = sampleReport();
const page = renderHtml(report, problemsIn(report));
const { document } = parseHTML(page);

const textOf = (selector: string) =>
  [...document.querySelectorAll(selector)].map(({ textContent }) => textContent.trim());

test("the sample matches the schema", () => {
  expect(reportSchema.parse(report)).toEqual(report);
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

test("the verdict is in the headline, and what is not met comes first", () => {
  expect(document.querySelector("h1")?.className).toBe("bad");
  expect(textOf("h1")).toEqual([
    "Benchmarks failed: 7 of 9 measured targets met, 1 missed, 1 inconclusive, 1 suite failed, 1 suite skipped",
  ]);
  expect(textOf(".problems li").map((text) => text.replaceAll(/\s+/g, " "))).toEqual([
    "failure sse-overhead: overhead of an upload missed its target: 1.31 (1.27 to 1.35), ≤ 1.25",
    "failure blob-pipeline failed: the store answered 503 Slow Down to every one of 5 tries",
    "warning sse-overhead: overhead of a download is inconclusive: 1.10 (0.70 to 1.60), ≤ 1.25",
    "warning encryption-perf skipped: no object store: start one with script/minio",
  ]);
  expect(textOf("h1 ~ .rate").map((text) => text.replaceAll(/\s+/g, " "))).toEqual([
    "put 319 MB/s put 10 MB, streaming-throughput",
    "get 436 MB/s get 100 MB, streaming-throughput",
  ]);
  const about = textOf("main > p.muted")[0];
  for (const part of ["commit 0123456789ab", "Made-up processor", "SHA-256 1,410 MB/s"]) {
    expect(about).toContain(part);
  }
});

test("one table has the targets of all suites, the missed ones first", () => {
  const rows = [...document.querySelector("table")!.querySelectorAll("tbody tr")];
  const cells = rows.map((row) => [...row.children].map(({ textContent }) => textContent));
  expect(cells).toHaveLength(10);
  expect(cells.slice(0, 3)).toEqual([
    ["overhead of an upload", "✗ missed", "1.31", "1.27 to 1.35", "≤ 1.25", "sse-overhead"],
    ["overhead of a download", "? inconclusive", "1.10", "0.70 to 1.60", "≤ 1.25", "sse-overhead"],
    ["SHA-256 of 100 MB", "✓ met", "1,390 MB/s", "", "≥ 100 MB/s", "hash-perf"],
  ]);
  const tones = rows.slice(0, 3).map((row) => row.children[1]!.className);
  expect(tones).toEqual(["left bad", "left unclear", "left good"]);
  const reason = "not measured: no object store: start one with script/minio";
  expect(cells.at(-1)).toEqual([reason, "– skipped", "", "", "", "encryption-perf"]);
  expect(rows.at(-1)!.children[1]!.className).toBe("left absent");
});

test("a run of which all suites were skipped has no verdict but that", () => {
  const skipped = report.suites.filter(({ status }) => status === "skipped");
  const { document } = parseHTML(renderHtml({ ...report, suites: skipped }, []));
  expect(document.querySelector("h1")!.textContent).toContain("not judged: no targets, 1 suite");
  const cells = [...document.querySelectorAll("tbody tr > *")].map(
    ({ textContent }) => textContent,
  );
  expect(cells.slice(1)).toEqual(["– skipped", "encryption-perf"]);
});

test("what is compared is beside the ratio", () => {
  const side = (cpu: number[], memory: number) => ({ cpu, elapsed: [2, 2, 2], memory });
  const pairs = [{ base: side([0.01, 0.09, 0.02], 2 ** 20), head: side([0.03], 2 ** 21) }];
  const tasks = [{ task: "put-memory", attempts: [{ pairs: [] }, { pairs }] }];
  const change = { value: 0.5, unit: "change", most: 0.1, kind: "cpu", verdict: "missed" } as const;
  const names = ["put-memory: CPU time", "put-memory: peak memory", "other: CPU time"];
  const compared: SuiteResult = {
    ...report.suites[4]!,
    suite: "compare",
    targets: names.map((name) => Object.assign({ name }, change)),
    comparison: { base: "a", head: "b", tasks },
  };
  const { document } = parseHTML(renderHtml({ ...report, suites: [compared] }, []));
  const rows = [...document.querySelector("table")!.querySelectorAll("tr")];
  const cells = rows.map((row) => [...row.children].map(({ textContent }) => textContent));
  expect(cells.map((row) => row.slice(0, 5))).toEqual([
    ["target", "verdict", "base", "head", "value"],
    ["put-memory: CPU time", "✗ missed", "20.0 ms", "30.0 ms", "+50.0 %"],
    ["put-memory: peak memory", "✗ missed", "1.00 MiB", "2.00 MiB", "+50.0 %"],
    ["other: CPU time", "✗ missed", "", "", "+50.0 %"],
  ]);
  expect(textOf("#suite-1 thead")[1]).toMatch(/^pair\s*pairs\s*base\s*head\s*mean difference/u);
});

test("every chart is drawn in both widths and has a label", () => {
  const figures = [...document.querySelectorAll("figure")];
  const captions = figures.map((figure) => figure.querySelector("figcaption")!.textContent.trim());
  expect(captions).toEqual([
    "Rate by size, MB/s",
    "Rate by size, MB/s",
    "Resident memory over time, MiB",
    "Rate by size, MB/s",
  ]);
  for (const figure of figures) {
    const drawings = [...figure.querySelectorAll("svg")];
    expect(drawings.map((svg) => svg.getAttribute("class"))).toEqual(["wide", "narrow"]);
    for (const svg of drawings) expect(svg.getAttribute("aria-label")).not.toBeEmpty();
  }
});

test("tables and sentences match the report", () => {
  const overhead = report.suites[1]!;
  const rows = textOf("#suite-1 tbody tr");
  for (const { name, distribution } of overhead.measurements) {
    const row = rows.find((text) => text.startsWith(`${name}120`.replaceAll(/\s/g, " ")));
    expect(row ?? rows.join("|")).toContain(`${(distribution.p50 * 1000).toFixed(1)} ms`);
  }
  const verdicts = overhead.pairs.map(({ name, verdict }) => `${name}: ${verdict}`);
  expect(textOf("#suite-1 li")).toEqual([...verdicts, ...overhead.notes]);
});

test("no text becomes markup", () => {
  const poisoned = renderHtml(hostile(report), hostile(problemsIn(report)));
  const other = parseHTML(poisoned).document;
  // The number of ticks depends on the lengths of names, but the kinds of elements do not.
  const kinds = (root: Document) => [
    [...root.querySelectorAll(":not(svg *)")].map(({ localName }) => localName),
    new Set([...root.querySelectorAll("svg *")].map(({ localName }) => localName)),
  ];
  expect(kinds(other)).toEqual(kinds(document));
  expect(poisoned.includes("<script>")).toBe(false);
  expect(other.querySelector("#suite-0 h2")?.textContent).toContain(`<script>document.title="ran"`);
});
