import { describe, expect, test } from "bun:test";
import { baselineOf, parseBaseline, renderBaseline } from "../../src/baseline/baseline.ts";
import {
  type BaselineChange,
  compareToBaseline,
  confirmed,
  isRegression,
  slowerSuites,
} from "../../src/baseline/compare.ts";
import { changesMarkdown, renderChanges } from "../../src/baseline/render.ts";
import type { Measurement, Report } from "../../src/report/report.ts";
import { HEAD, REPORT, measurement, result } from "../report/fixtures.ts";

const IO: ReadonlySet<string> = new Set(["upload"]);

function run(suite: string, measurements: Measurement[], slowness = 1): Report {
  const { sha256, secretbox, memoryCopy } = HEAD.calibration;
  const calibration = {
    sha256: sha256 / slowness,
    secretbox: secretbox / slowness,
    memoryCopy: memoryCopy / slowness,
  };
  return { ...HEAD, calibration, suites: [result(suite, { measurements })] };
}

/** Compares one measurement with a baseline of 1 ms for a megabyte. */
function against(
  seconds: number,
  {
    suite = "seal",
    slowness = 1,
    tolerance,
  }: { suite?: string; slowness?: number; tolerance?: number } = {},
): BaselineChange {
  const before = run(suite, [measurement("x", 0.001, { bytesPerOperation: 1e6 })]);
  const after = run(suite, [measurement("x", seconds, { bytesPerOperation: 1e6 })], slowness);
  return compareToBaseline(baselineOf(before), after, { io: IO, tolerance })[0]!;
}

describe("a baseline file", () => {
  test("is read as it was written", () => {
    const baseline = baselineOf(REPORT);
    expect(baseline.suites.map(({ suite }) => suite)).toEqual(["seal"]);
    expect(baseline.suites[0]!.measurements[0]!.cost).toBeCloseTo(1);
    expect(baseline.suites[0]!.measurements[0]).toMatchObject({
      requests: 1,
      bytesSent: 1_000_040,
    });
    expect(parseBaseline(renderBaseline(baseline))).toEqual(baseline);
  });

  test("contains no absolute times", () => {
    expect(renderBaseline(baselineOf(REPORT))).not.toContain("0.004");
  });

  test.each([
    ["{", "is not valid JSON"],
    ["[]", "has no schema"],
    ['{"schema":"idk-bench/1"}', 'has the schema "idk-bench/1", not "idk-bench-baseline/1"'],
    ['{"schema":"idk-bench-baseline/1"}', "is invalid at createdAt"],
  ])("%p is rejected", (text, message) => {
    expect(() => parseBaseline(text)).toThrow(message);
  });
});

describe("times against a baseline", () => {
  test("an equal time is the same", () => {
    expect(against(0.001)).toMatchObject({ verdict: "same", what: "time", tolerance: 0.1 });
  });

  test("a machine at half speed is not slower code", () => {
    expect(against(0.002, { slowness: 2 })).toMatchObject({ verdict: "same" });
    expect(against(0.001, { slowness: 2 })).toMatchObject({ verdict: "faster" });
  });

  test("slower means that the intervals differ by more than the tolerance", () => {
    // The intervals extend one percent to either side, so that the limit is 1.01 × 1.1 / 0.99.
    expect(against(0.00112)).toMatchObject({ verdict: "same" });
    expect(against(0.00113)).toMatchObject({ verdict: "slower" });
    expect(against(0.00113).change).toBeCloseTo(0.13);
    expect(against(0.0009)).toMatchObject({ verdict: "same" });
    expect(against(0.00087)).toMatchObject({ verdict: "faster" });
  });

  test("suites that wait for I/O have a larger tolerance", () => {
    expect(against(0.00113, { suite: "upload" })).toMatchObject({
      verdict: "same",
      tolerance: 0.3,
    });
    expect(against(0.0014, { suite: "upload" })).toMatchObject({ verdict: "slower" });
  });

  test("a given tolerance replaces both defaults", () => {
    expect(against(0.00113, { tolerance: 0.2 })).toMatchObject({ verdict: "same" });
    expect(against(0.0014, { suite: "upload", tolerance: 0.5 })).toMatchObject({ verdict: "same" });
  });
});

describe("a second run", () => {
  test("confirms only what was slower in the first run", () => {
    const [same, slower] = [against(0.001), against(0.002)];
    const verdicts = (first: BaselineChange, second: BaselineChange) =>
      confirmed([first], [second]).map(({ verdict }) => verdict);
    expect(verdicts(slower, slower)).toEqual(["slower"]);
    expect(verdicts(slower, same)).toEqual(["same"]);
    expect(verdicts(same, slower)).toEqual(["same"]);
    expect(verdicts(same, { ...slower, what: "requests", verdict: "more" })).toEqual(["more"]);
    expect([...slowerSuites([same, slower])]).toEqual(["seal"]);
  });
});

describe("counters against a baseline", () => {
  const changes = (before: Partial<Measurement>, after: Partial<Measurement>) =>
    compareToBaseline(
      baselineOf(run("upload", [measurement("x", 1, before)])),
      run("upload", [measurement("x", 1, after)]),
      { io: IO, tolerance: 10 },
    ).filter(({ what }) => what !== "time");

  test("one more request is a regression, whatever the tolerance", () => {
    const [change] = changes({ requests: 100 }, { requests: 101 });
    expect(change).toMatchObject({ what: "requests", verdict: "more", base: 100, now: 101 });
    expect(isRegression(change!)).toBe(true);
  });

  test("one byte less is an improvement", () => {
    const [sent, received] = changes(
      { bytesSent: 100, bytesReceived: 0 },
      { bytesSent: 99, bytesReceived: 1 },
    );
    expect(sent).toMatchObject({ what: "bytesSent", verdict: "less" });
    expect(received).toMatchObject({ what: "bytesReceived", verdict: "more", change: Infinity });
  });

  test("a counter that only one side has is rejected", () => {
    expect(() => changes({ requests: 1 }, {})).toThrow("this run does not count requests");
    expect(() => changes({}, { requests: 1 })).toThrow("the baseline does not count requests");
  });
});

describe("a baseline of other measurements", () => {
  const baseline = baselineOf(run("seal", [measurement("x", 1, { bytesPerOperation: 8 })]));
  const compare = (report: Report) => () => compareToBaseline(baseline, report, { io: IO });

  test.each<[string, Report, string]>([
    ["another suite", run("hash", []), "has no results for hash, only for seal"],
    ["nothing", run("seal", []), 'it has "x" of 8 bytes, which this run did not measure'],
    [
      "another size",
      run("seal", [measurement("x", 1, { bytesPerOperation: 9 })]),
      "run both with the same sizes and options",
    ],
    [
      "more",
      run("seal", [measurement("x", 1, { bytesPerOperation: 8 }), measurement("y", 1)]),
      'it has no "y", which this run measured',
    ],
  ])("%s is rejected", (_, report, message) => {
    expect(compare(report)).toThrow(message);
  });

  test("another NaCl implementation is rejected", () => {
    const report = run("seal", [measurement("x", 1, { bytesPerOperation: 8 })]);
    const portable = { ...report, machine: { ...report.machine, nacl: "portable" as const } };
    expect(compare(portable)).toThrow(
      "measured with the native NaCl, but this run uses the portable",
    );
  });

  test("suites that did not run or failed are ignored", () => {
    const both: Report = { ...HEAD, suites: [result("seal"), result("hash")] };
    const one: Report = { ...HEAD, suites: [result("seal"), result("x", { status: "failed" })] };
    expect(compareToBaseline(baselineOf(both), one, { io: IO })).toEqual([]);
  });
});

describe("rendered changes", () => {
  const changes = [against(0.001), against(0.0005), against(0.002)];

  test("list regressions first and count what is unchanged", () => {
    expect(renderChanges(changes)).toMatchInlineSnapshot(`
      "against the baseline: 1 regression, 1 improvement, 1 unchanged
        suite  measurement  what          baseline    now    change  tolerance  verdict
        seal   x            time × bound     0.250  0.500  +100.0 %    +10.0 %  SLOWER
        seal   x            time × bound     0.250  0.125   −50.0 %    +10.0 %  faster"
    `);
    expect(changesMarkdown(changes)).toMatchInlineSnapshot(`
      "### against the baseline: 1 regression, 1 improvement, 1 unchanged

      | suite | measurement | what         | baseline |   now |   change | tolerance | verdict  |
      | :---- | :---------- | :----------- | -------: | ----: | -------: | --------: | :------- |
      | seal  | x           | time × bound |    0.250 | 0.500 | +100.0 % |   +10.0 % | ❌ slower |
      | seal  | x           | time × bound |    0.250 | 0.125 |  −50.0 % |   +10.0 % | ✅ faster |
      "
    `);
  });

  test("have no table if nothing changed", () => {
    expect(renderChanges([against(0.001)])).toBe(
      "against the baseline: 0 regressions, 0 improvements, 1 unchanged",
    );
  });
});
