import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "bun:test";
import {
  type Baseline,
  compareWithBaseline,
  lineOf,
  missingFrom,
  notCompared,
  readBaseline,
  updatedBaseline,
  writeBaseline,
} from "../../src/baseline/baseline.ts";
import type { Counter, Report, SuiteResult, Target } from "../../src/report/report.ts";
import { HEAD, result } from "../report/fixtures.ts";

const folder = mkdtempSync(join(tmpdir(), "idk-baseline-"));
afterAll(() => rmSync(folder, { recursive: true }));

const { processor, cores } = HEAD.machine;

const MACHINES: readonly Baseline["machine"][] = [
  { processor: "Abacus 10", cores },
  { processor, cores: cores + 1 },
];

/** A ratio with an interval of ± 5 %, which met its own bound. */
function ratio(
  value: number,
  { name = "put by bound", kind = "cpu", bound = { most: 9 } }: Partial<Drift> = {},
): Target {
  const interval = { low: 0.95 * value, high: 1.05 * value, confidence: 0.99 };
  return { name, value, unit: "ratio", ...bound, interval, kind, verdict: "met" };
}

interface Drift {
  readonly name: string;
  readonly kind: "cpu" | "wall";
  readonly bound: { readonly most?: number; readonly least?: number };
}

function counter(value: number, more: Partial<Counter> = {}): Counter {
  return { name: "PUT requests", value, unit: "count", ...more };
}

function suite(targets: readonly Target[], counters: readonly Counter[] = []): SuiteResult {
  return result("seal", { targets, counters });
}

function reportOf(...suites: SuiteResult[]): Report {
  return { ...HEAD, suites };
}

/** The verdicts on what the baseline adds to a result. */
function verdicts(
  before: SuiteResult,
  now: SuiteResult,
  host: Baseline["machine"] = { processor, cores },
): string[] {
  const baseline = updatedBaseline(reportOf(before), undefined, "first");
  const { targets } = compareWithBaseline(now, baseline, host);
  return targets.slice(now.targets.length).map(({ name, verdict }) => `${name}: ${verdict}`);
}

describe("a counter", () => {
  const of = (before: number, now: number, more: Partial<Counter> = {}) =>
    verdicts(suite([], [counter(before)]), suite([], [counter(now, more)]));

  test("fails if it is any more or less, and passes if it is the same", () => {
    expect(of(100, 101)).toEqual(["PUT requests, against the baseline: missed"]);
    expect(of(0, 1)).toEqual(["PUT requests, against the baseline: missed"]);
    expect(of(100, 100)).toEqual(["PUT requests, against the baseline: met"]);
    expect(of(100, 99)).toEqual(["PUT requests, against the baseline: missed"]);
    expect(of(123_456_789_012, 123_456_789_013)[0]).toEndWith(": missed");
  });

  test("may differ by its tolerance", () => {
    expect(of(100, 110, { tolerance: 0.1 })[0]).toEndWith(": met");
    expect(of(100, 111, { tolerance: 0.1 })[0]).toEndWith(": missed");
    expect(of(100, 90, { tolerance: 0.1 })[0]).toEndWith(": met");
    expect(of(100, 89, { tolerance: 0.1 })[0]).toEndWith(": missed");
  });

  test("of peak memory may fall", () => {
    expect(of(100, 50, { peak: true })[0]).toEndWith(": met");
    expect(of(100, 101, { peak: true })[0]).toEndWith(": missed");
  });
});

describe("a ratio", () => {
  const of = (before: number, now: number, drift: Partial<Drift> = {}) =>
    verdicts(suite([ratio(before, drift)]), suite([ratio(now, drift)]));

  // Both intervals are ± 5 %: the second is beyond the end of the first and the tolerance, or not.
  test.each<["cpu" | "wall", number, string]>([
    ["cpu", 1.35, "missed"],
    ["cpu", 1.3, "inconclusive"],
    ["cpu", 1.24, "met"],
    ["cpu", 0.5, "met"],
    ["wall", 1.45, "met"],
    ["wall", 1.6, "missed"],
  ])("of %p time that rises to %p is %p", (kind, now, verdict) => {
    expect(of(1, now, { kind })).toEqual([`put by bound, against the baseline: ${verdict}`]);
  });

  test.each<["cpu" | "wall", number, string]>([
    ["cpu", 0.74, "missed"],
    ["cpu", 0.8, "met"],
    ["cpu", 2, "met"],
    ["wall", 0.8, "met"],
    ["wall", 0.63, "missed"],
  ])("that must be at least its bound, of %p time, at %p is %p", (kind, now, verdict) => {
    expect(of(1, now, { kind, bound: { least: 0.1 } })[0]).toEndWith(`: ${verdict}`);
  });

  test("that its own bound allows no drift of is not compared again", () => {
    expect(of(1, 1, { bound: { most: 1.27 } })).toHaveLength(1);
    expect(of(1, 1, { bound: { most: 1.26 } })).toEqual([]);
    expect(of(1, 1, { bound: { least: 0.79 } })).toHaveLength(1);
    expect(of(1, 1, { bound: { least: 0.8 } })).toEqual([]);
  });

  test("whose sides use different parts of a machine is not compared, but must be measured", () => {
    const own = (value: number) => suite([{ ...ratio(value), ownBoundOnly: true }]);
    expect(verdicts(own(1), own(3))).toEqual([]);
    const baseline = updatedBaseline(reportOf(own(1)), undefined, "first");
    expect(baseline.suites["seal"]?.targets).toEqual({ "put by bound": null });
    expect(missingFrom([suite([])], baseline)).toHaveLength(1);
  });

  test("between two bounds may not grow", () => {
    const bound = { least: 1, most: 25 };
    expect(of(8, 24, { bound })[0]).toEndWith(": missed");
    expect(of(8, 4, { bound })[0]).toEndWith(": met");
  });

  test("and peak memory are compared on the same machine only, counters on any", () => {
    const peak = { name: "peak memory", peak: true } as const;
    const before = suite([ratio(1)], [counter(7), counter(100, peak)]);
    const now = suite([ratio(3)], [counter(8), counter(200, peak)]);
    expect(verdicts(before, now)).toHaveLength(3);
    const baseline = updatedBaseline(reportOf(before), undefined, "first");
    expect(notCompared(baseline, { processor, cores })).toBeUndefined();
    for (const host of MACHINES) {
      expect(verdicts(before, now, host)).toEqual(["PUT requests, against the baseline: missed"]);
      expect(notCompared(baseline, host)).toContain("of another machine (Abacus 9, 2 cores)");
    }
  });
});

describe("what is compared", () => {
  const seconds: Target = { ...ratio(1, { name: "put" }), unit: "seconds" };

  test("is not absolute: of times and sizes, the baseline has the names", () => {
    const before = suite([ratio(1), seconds]);
    const { suites } = updatedBaseline(reportOf(before), undefined, "first");
    const targets = { "put by bound": 1.05, put: null };
    expect(suites).toEqual({ seal: { targets, counters: {} } });
    expect(verdicts(before, suite([{ ...seconds, value: 9 }]))).toEqual([]);
  });

  test("is what both have: new targets, other suites and failed ones are left as they are", () => {
    const before = suite([ratio(1)]);
    expect(verdicts(before, suite([ratio(1, { name: "new" })], [counter(1)]))).toEqual([]);
    expect(verdicts(before, result("other", { targets: [ratio(3)] }))).toEqual([]);
    expect(verdicts(before, result("seal", { status: "failed", reason: "no" }))).toEqual([]);
  });

  test("a target or counter that is no longer measured is named", () => {
    const before = suite([ratio(1), seconds], [counter(7)]);
    const baseline = updatedBaseline(reportOf(before), undefined, "first");
    expect(missingFrom([before], baseline)).toEqual([]);
    expect(missingFrom([suite([], [counter(7)])], baseline)).toEqual([
      'seal: "put by bound" is in the baseline and was not measured',
      'seal: "put" is in the baseline and was not measured',
    ]);
    expect(missingFrom([suite([ratio(1), seconds])], baseline)).toEqual([
      'seal: "PUT requests" is in the baseline and was not measured',
    ]);
    // A suite that did not run is a problem of its own.
    expect(missingFrom([result("seal", { status: "skipped" })], baseline)).toEqual([]);
  });
});

describe("the file", () => {
  const file = join(folder, "baseline.json");
  const exponent: Target = { ...ratio(1, { name: "growth" }), unit: "exponent" };
  const first = result("seal", { targets: [ratio(1.23456), exponent], counters: [counter(7)] });
  const second = result("open", { targets: [ratio(2)], counters: [counter(9)] });
  const baseline = updatedBaseline(
    { ...reportOf(second), createdAt: "2026-02-03T00:00:00.000Z" },
    updatedBaseline(reportOf(first), undefined, "why it began"),
    "why it changed",
  );

  test("has the reason, the day and the revision of each update", () => {
    const { revision } = HEAD;
    expect(baseline.updates).toEqual([
      { date: "2026-01-02", revision: revision!, reason: "why it began" },
      { date: "2026-02-03", revision: revision!, reason: "why it changed" },
    ]);
  });

  test("is read as it was written, one value a line", async () => {
    await writeBaseline(file, baseline);
    expect(await readBaseline(file)).toEqual(baseline);
    const lines = readFileSync(file, "utf8").split("\n");
    for (const name of ["put by bound", "PUT requests"]) {
      expect(lines.filter((line) => line.includes(`"${name}": `))).toHaveLength(2);
    }
    expect(lines.some((line) => (line.match(/": /gu) ?? []).length > 1)).toBe(false);
  });

  test("has the line of each value of each suite", async () => {
    await writeBaseline(file, baseline);
    const text = readFileSync(file, "utf8");
    const lineWith = (name: string, target: string) =>
      text.split("\n")[lineOf(text, name, target) - 1]!.trim();
    expect(lineWith("seal", "put by bound")).toBe('"put by bound": 1.296,');
    expect(lineWith("seal", "growth")).toBe('"growth": null');
    expect(lineWith("open", "put by bound, against the baseline")).toBe('"put by bound": 2.1');
    expect(lineWith("seal", "PUT requests")).toStartWith('"PUT requests": 7');
    expect(lineWith("open", "PUT requests, against the baseline")).toBe('"PUT requests": 9');
    expect(lineOf(text, "seal", "no such target")).toBe(1);
    expect(lineOf(text, "no such suite", "put by bound")).toBe(1);
  });

  test("a target of one suite is not looked for in the next", async () => {
    const other = updatedBaseline(
      reportOf(result("seal"), result("open", { counters: [counter(9)] })),
      undefined,
      "first",
    );
    await writeBaseline(file, other);
    expect(lineOf(readFileSync(file, "utf8"), "seal", "PUT requests")).toBe(1);
  });

  test("comparisons with the baseline do not get into it", () => {
    const compared = compareWithBaseline(first, baseline, { processor, cores });
    expect(compared.targets).toHaveLength(4);
    expect(updatedBaseline(reportOf(compared), undefined, "again").suites["seal"]).toEqual(
      baseline.suites["seal"],
    );
  });

  const refused = (...suites: SuiteResult[]): unknown => {
    try {
      return updatedBaseline(reportOf(...suites), baseline, "why");
    } catch (error) {
      return (error as Error).message;
    }
  };

  test("is not made from suites without results, or missed targets", () => {
    const failed = result("broken", { status: "failed", reason: "no" });
    expect(refused(first, failed)).toBe("the baseline was not updated: broken failed: no");
    const skipped = result("upload", { status: "skipped", reason: "no store" });
    expect(refused(first, skipped)).toContain("upload skipped: no store");
    expect(refused(suite([{ ...ratio(10), verdict: "missed" }]))).toContain(
      "seal: put by bound missed its target: 10.0 (9.50 to 10.5), ≤ 9.00",
    );
  });

  test("keeps the value of an inconclusive ratio, if it has one of this machine", () => {
    const unclear = { ...ratio(5), verdict: "inconclusive" } as const;
    const updated = updatedBaseline(reportOf(suite([unclear])), baseline, "why");
    expect(updated.suites["seal"]!.targets).toEqual({ "put by bound": 1.296 });
    const message = "seal: new is inconclusive: run it again on a quiet machine";
    expect(refused(suite([{ ...unclear, name: "new" }]))).toContain(message);
    for (const machine of MACHINES) {
      const elsewhere = { ...baseline, machine };
      expect(() => updatedBaseline(reportOf(suite([unclear])), elsewhere, "why")).toThrow(
        "put by bound is inconclusive: run it again on a quiet machine",
      );
    }
  });

  test("never mixes suites of two machines: on another one, all have to be measured", () => {
    const open = { ...suite([ratio(1)]), suite: "open" };
    const both = updatedBaseline(reportOf(suite([ratio(1)]), open), undefined, "first");
    for (const machine of MACHINES) {
      const elsewhere = { ...both, machine };
      expect(() => updatedBaseline(reportOf(open), elsewhere, "why")).toThrow(
        `it is of another machine (${machine.processor}, ${machine.cores} cores), so update all suites: name none`,
      );
      const moved = updatedBaseline(reportOf(suite([ratio(2)]), open), elsewhere, "why");
      expect(moved.machine).toEqual({ processor, cores });
    }
  });

  test.each([
    ["{", "is not a baseline"],
    ['{"schema":"idk-bench-baseline/2"}', 'expected "idk-bench-baseline/3"'],
    [JSON.stringify({ ...baseline, suites: { seal: { targets: { x: "1" } } } }), "seal"],
    [JSON.stringify({ ...baseline, updates: [{ date: "2026-01-02", reason: "" }] }), "reason"],
  ])("%p is rejected", async (text, message) => {
    writeFileSync(file, text);
    const error: unknown = await readBaseline(file).catch((caught: unknown) => caught);
    expect(String(error)).toContain(message);
    expect(String(error)).not.toContain("\n");
  });
});
