import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "bun:test";
import { type Paint, drawGrid, paintFor, plain } from "../../src/report/draw.ts";
import type { Report } from "../../src/report/report.ts";
import { describeRun } from "../../src/report/outcome.ts";
import { renderOutcome, renderSuite } from "../../src/report/table.ts";
import { PROBLEMS, REPORT, measurement, result } from "./fixtures.ts";

/** The parts in the order in which a run prints them. */
function renderTable(report: Report, paint: Paint = plain): string {
  const suites = report.suites.map((suite) => renderSuite(suite, paint));
  return [describeRun(report).join("\n"), ...suites, renderOutcome(report, PROBLEMS, paint)].join(
    "\n\n",
  );
}

describe("the table of a report", () => {
  test("shows every value with its unit", () => {
    expect(renderTable(REPORT)).toMatchInlineSnapshot(`
      "idk 0.1.0, commit 0123456789ab-dirty, 2026-01-02T03:04:05.678Z
      Abacus 9, 2 cores, 8.00 GiB, linux 6.1, Bun 1.4.5, native NaCl
      one thread: SHA-256 500 MB/s, secretbox 500 MB/s, memory copy 10,000 MB/s

      seal  What seal takes
        completed in 12.3 s

        measurement   median   ± 95 %      p95      rate      CPU      peak
        seal 1 MB    4.00 ms  ± 1.0 %  4.04 ms  250 MB/s  4.10 ms  85.0 MiB
        make a key   25.0 µs  ± 1.0 %  25.3 µs

        pair            pairs  mean difference             interval  overhead
        with | without      2         +1.50 ms  −100 µs to +3.10 ms    +4.3 %

        operation     hashed
        seal 1 MB  1,000,040

        target          verdict       value  interval      bound
        seal by bound   met            1.00                ≤ 1.10
        open by bound   inconclusive   1.00  0.60 to 1.40  ≤ 1.10
        key by <bound>  MISSED         2.00                ≤ 1.50

        with | without: the interval includes zero: no measurable difference
        the first *round* warms up

      upload  What upload takes
        skipped: no object store

      broken  What broken takes
        FAILED after 500 ms: HTTP 500

      Benchmarks failed: 1 of 3 measured targets met, 1 missed, 1 inconclusive, 1 suite failed, 1 suite skipped
      FAILED seal: key by <bound> missed its target: 2.00, ≤ 1.50
      FAILED broken failed: HTTP 500
      warning seal: open by bound is inconclusive: 1.00 (0.60 to 1.40), ≤ 1.10
      warning upload skipped: no object store"
    `);
  });

  test("shows how far the store was", () => {
    expect(describeRun({ ...REPORT, rtt: 50 })[1]).toEndWith(
      "native NaCl, 50 ms added to each request to the store",
    );
    expect(describeRun({ ...REPORT, rtt: 50, rate: 12.5e6 })[1]).toEndWith(
      "50 ms added to each request to the store, over a line of 100 Mbit/s",
    );
    expect(describeRun(REPORT)[1]).toEndWith("native NaCl");
  });

  test("fits the width of the terminal: names and sentences are wrapped between words", () => {
    const lines = renderSuite(REPORT.suites[0]!, plain, 72).split("\n");
    expect(lines.filter((line) => Bun.stringWidth(line) > 72)).toEqual([]);
    const sentence = renderSuite(REPORT.suites[0]!, plain, 60).split("\n\n").at(-1)!;
    expect(sentence).toContain("includes zero: no\n    measurable difference");
  });

  test("is one block of at most 100 columns, however long the names are", () => {
    const name = "10 MB: put to bare PUT with kept checksum + secretbox + SHA-256";
    const interval = { low: 1234e6, high: 1300e6, confidence: 0.99 };
    const suite = result("seal", {
      measurements: [
        measurement(`${name}, in parts`, 0.123, {
          bytesPerOperation: 1e9,
          cpuSamples: [0.1],
          peakRss: 2 ** 30,
          heap: 2 ** 30,
        }),
      ],
      targets: [
        {
          name: `${name}, against the baseline`,
          value: 1250e6,
          unit: "bytes/s",
          least: 1249e6,
          kind: "wall",
          verdict: "inconclusive",
          interval,
        },
      ],
    });
    const text = renderSuite(suite, plain, 100);
    const lines = text.split("\n");
    expect(lines.filter((line) => Bun.stringWidth(line) > 100)).toEqual([]);
    expect(lines.filter((line) => line.includes("median"))).toEqual([
      expect.stringMatching(/measurement +median +± 95 % +p95 +rate +CPU +peak$/u),
    ]);
    expect(text.match(/^ {2}target .*$/gmu)).toEqual([
      expect.stringMatching(/target +verdict +value +interval +bound$/u),
    ]);
    expect(text).toContain("1,234 to 1,300 MB/s");
    // A pipe gets each row in one line.
    expect(renderSuite(suite)).toContain(`${name}, against the baseline  inconclusive`);
  });

  test("has the same text in colour", () => {
    const paint = paintFor({ isTTY: true }, {});
    const coloured = renderTable(REPORT, paint);
    expect(coloured).toContain("\u001b[31m");
    expect(stripVTControlCharacters(coloured)).toBe(renderTable(REPORT));
  });

  test.each([
    [{ isTTY: true }, { NO_COLOR: "1" }],
    [{ isTTY: true }, { TERM: "dumb" }],
    [{ isTTY: false }, {}],
    [{}, {}],
  ])("has no colour for %p in %p", (stream, env) => {
    expect(paintFor(stream, env)("bad", "text")).toBe("text");
  });

  test("ignores an empty NO_COLOR", () => {
    expect(paintFor({ isTTY: true }, { NO_COLOR: "" })("bad", "text")).not.toBe("text");
  });

  test("aligns columns by display width", () => {
    const grid = { head: ["a", "b"], align: ["left", "right"] as const, rows: [["µs µs", "1"]] };
    expect(drawGrid(grid, plain)).toBe("  a      b\n  µs µs  1");
  });
});

test("measurements are in the tables that they name", () => {
  const suite = result("sse", {
    measurements: [
      measurement("upload, plain", 0.1, { table: "uploads" }),
      measurement("download, plain", 0.02, { table: "downloads" }),
      measurement("upload, SSE", 0.11, { table: "uploads" }),
    ],
  });
  expect(renderSuite(suite)).toMatchInlineSnapshot(`
    "sse  What sse takes
      completed in 12.3 s

      uploads        median   ± 95 %     p95
      upload, plain  100 ms  ± 1.0 %  101 ms
      upload, SSE    110 ms  ± 1.0 %  111 ms

      downloads         median   ± 95 %      p95
      download, plain  20.0 ms  ± 1.0 %  20.2 ms"
  `);
});
