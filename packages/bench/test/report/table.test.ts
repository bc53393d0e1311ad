import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "bun:test";
import { type Paint, drawGrid, paintFor, plain } from "../../src/report/draw.ts";
import type { Report } from "../../src/report/report.ts";
import { renderHead, renderOutcome, renderSuite } from "../../src/report/table.ts";
import { REPORT } from "./fixtures.ts";

const BOUND =
  "  × bound: the median relative to sealing and hashing the same bytes on one thread of this machine";

/** The parts in the order in which a run prints them. */
function renderTable(report: Report, paint: Paint = plain): string {
  const suites = report.suites.map((suite) => renderSuite(suite, report.calibration, paint));
  return [renderHead(report, paint), ...suites, renderOutcome(report.suites, paint)].join("\n\n");
}

describe("the table of a report", () => {
  test("shows every value with its unit", () => {
    expect(renderTable(REPORT)).toMatchInlineSnapshot(`
      "idk 0.1.0, commit 0123456789ab-dirty, 2026-01-02T03:04:05.678Z
      Abacus 9, 2 cores, 8.00 GiB, linux 6.1, Bun 1.4.5, native NaCl
      one thread: SHA-256 500 MB/s, secretbox 500 MB/s, memory copy 10,000 MB/s

      seal  What seal takes
        completed in 12.3 s

        measurement  n   median  95 % interval      p95     mean      rate      CPU  peak RSS  requests     sent  × bound
        seal 1 MB    3  4.00 ms        ± 1.0 %  4.04 ms  4.00 ms  250 MB/s  4.10 ms  85.0 MiB         1  977 KiB     1.00
        make a key   3  25.0 µs        ± 1.0 %  25.3 µs  25.0 µs
        × bound: the median relative to sealing and hashing the same bytes on one thread of this machine

        pair            pairs  mean difference             interval  overhead
        with | without      2         +1.50 ms  −100 µs to +3.10 ms    +4.3 %
        with | without: the interval includes zero: no measurable difference

        target          value  bound         outcome
        seal by bound    1.00  at most 1.10  met
        key by <bound>   2.00  at most 1.50  MISSED

        note: the first *round* warms up

      upload  What upload takes
        skipped: no object store

      broken  What broken takes
        FAILED after 500 ms: HTTP 500

      3 suites, 1 of 2 targets met
      MISSED seal: key by <bound>
      FAILED broken
      skipped upload"
    `);
  });

  test("fits the width of the terminal and wraps sentences between words", () => {
    const { suites, calibration } = REPORT;
    const lines = renderSuite(suites[0]!, calibration, plain, 60).split("\n");
    expect(lines.filter((line) => Bun.stringWidth(line) > 60)).toEqual([BOUND]);
    expect(lines.join("\n")).toContain("includes zero: no\n    measurable difference");
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
    expect(paintFor(stream, env)("red", "text")).toBe("text");
  });

  test("ignores an empty NO_COLOR", () => {
    expect(paintFor({ isTTY: true }, { NO_COLOR: "" })("red", "text")).not.toBe("text");
  });

  test("aligns columns by display width", () => {
    const grid = { head: ["a", "b"], align: ["left", "right"] as const, rows: [["µs µs", "1"]] };
    expect(drawGrid(grid, plain)).toBe("  a      b\n  µs µs  1");
  });

  test("moves columns that do not fit to another block, which repeats the row names", () => {
    const grid = {
      head: ["what", "a", "b", "long"],
      align: ["left", "right", "right", "right"] as const,
      rows: [["put", "1", "2", "3"]],
    };
    const whole = "  what  a  b  long\n  put   1  2     3";
    expect(drawGrid(grid, plain, 18)).toBe(whole);
    expect(drawGrid(grid, plain, 17)).toBe(
      "  what  a  b\n  put   1  2\n\n  what  long\n  put      3",
    );
    // Never an empty block, however narrow.
    expect(drawGrid(grid, plain, 1).split("\n\n")).toHaveLength(3);
  });
});
