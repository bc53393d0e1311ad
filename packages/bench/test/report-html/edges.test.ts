import fc from "fast-check";
import { expect, test } from "bun:test";
import { parseHTML } from "linkedom";
import { renderHtml } from "../../src/report/html.ts";
import { html } from "../../src/report/html/html.ts";
import type { Measurement, Report, SuiteResult, Target } from "../../src/report/report.ts";
import { distributionOf } from "../../src/statistics/describe.ts";
import { sampleReport } from "./sample.ts";

const report = sampleReport();

function pageOf(suite: Partial<SuiteResult>): string {
  const nothing = { measurements: [], pairs: [], counters: [], targets: [], notes: [] };
  const whole = { suite: "s", title: "t", status: "completed", seconds: 1 } as const;
  const suites = [{ ...whole, ...nothing, ...suite }];
  return renderHtml({ ...report, suites } satisfies Report, []);
}

function measurement(
  name: string,
  samples: number[],
  more: Partial<Measurement> = {},
): Measurement {
  return {
    name,
    series: name,
    samples,
    distribution: distributionOf(samples),
    ...more,
  };
}

/** No chart may contain an invalid number. */
function expectDrawn(page: string): void {
  expect(page.match(/.{0,40}(?:NaN|Infinity|undefined|\[object).{0,40}/u)).toBeNull();
  expect(page.includes("</html>")).toBe(true);
}

test("draws the sample", () => {
  expectDrawn(renderHtml(report, []));
});

test("draws few, equal and very small values", () => {
  expectDrawn(pageOf({ measurements: [measurement("one", [0.5])] }));
  expectDrawn(pageOf({ measurements: [measurement("equal", [2, 2, 2, 2])] }));
  expectDrawn(pageOf({ measurements: [measurement("no time", [0, 0, 0])] }));
  expectDrawn(pageOf({ measurements: [measurement("some", [0, 1e-9, 3600])] }));
  expectDrawn(
    pageOf({
      measurements: [
        measurement(
          "many",
          Array.from({ length: 99 }, () => 1e-7),
        ),
      ],
    }),
  );
});

test("draws lines with a time or size of 0", () => {
  const at = (value: number, samples: number[]) =>
    measurement(`at ${value}`, samples, {
      series: "line",
      x: { value, unit: "bytes" },
      bytesPerOperation: value,
      peakRss: 1e8,
    });
  const measurements = [at(0, [1, 2]), at(1, [0, 0]), at(1024, [1, 2]), at(2048, [3, 4])];
  const page = pageOf({ measurements });
  expectDrawn(page);
  expect(page.includes("Rate by size")).toBe(true);
  // A line needs two positions.
  expect(pageOf({ measurements: [at(1024, [1])] }).includes("Rate by size")).toBe(false);
});

test("draws targets of any value and bound", () => {
  const values = [-1, 0, 1e-9, 1, 1e12];
  const bounds = [undefined, -1, 0, 1, 1e9];
  const units: Target["unit"][] = [
    "ratio",
    "change",
    "seconds",
    "bytes/s",
    "files/s",
    "bytes",
    "exponent",
    "count",
  ];
  for (const unit of units) {
    const targets = values.flatMap((value) =>
      bounds.flatMap((least) => [
        { name: "at least", value, unit, least, kind: "wall" as const, verdict: "missed" as const },
        {
          name: "at most",
          value,
          unit,
          most: least,
          kind: "wall" as const,
          verdict: "met" as const,
        },
      ]),
    );
    expectDrawn(pageOf({ targets }));
  }
});

test("draws pairs without difference and without a base measurement", () => {
  const none = { low: 0, high: 0, confidence: 0.95 };
  const pair = { name: "p", base: "a", head: "b", deltas: [0, 0], meanDelta: 0, overhead: 0 };
  expectDrawn(pageOf({ pairs: [{ ...pair, interval: none, verdict: "none" }] }));
});

test("draws many series", () => {
  const at = (series: string, value: number) =>
    measurement(`${series} ${value}`, [1e-3 * value, 2e-3 * value], {
      series,
      x: { value, unit: "threads" },
      bytesPerOperation: 1e6,
    });
  const series = Array.from({ length: 16 }, (_, i) => `series ${i}`);
  const page = pageOf({ measurements: series.flatMap((name) => [at(name, 1), at(name, 8)]) });
  expectDrawn(page);
  expect(parseHTML(page).document.querySelectorAll(".legend li")).toHaveLength(16);
});

test("templates preserve any text", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const { document } = parseHTML(html`<p title="${text}">${text}</p>`.markup);
      const p = document.querySelector("p")!;
      expect([p.textContent, p.getAttribute("title")]).toEqual([text, text]);
      expect(p.children).toHaveLength(0);
    }),
  );
});
