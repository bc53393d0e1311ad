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
import { calibratedCost, serialRate } from "../../src/report/calibrated.ts";
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

/** One measurement each, against a baseline of 1 ms for a megabyte. */
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

describe("the calibrated cost", () => {
  test("is 1 for what takes as long as sealing and hashing on one thread", () => {
    expect(serialRate({ sha256: 500e6, secretbox: 500e6, memoryCopy: 1 })).toBeCloseTo(250e6);
    expect(serialRate({ sha256: 1e9, secretbox: 250e6, memoryCopy: 1 })).toBeCloseTo(200e6);
    expect(calibratedCost(0.004, { bytesPerOperation: 1e6 }, HEAD.calibration)).toBeCloseTo(1);
    expect(calibratedCost(0.004, {}, HEAD.calibration)).toBeCloseTo(1e6);
  });
});

describe("a baseline", () => {
  test("comes back as it was written", () => {
    const baseline = baselineOf(REPORT);
    expect(baseline.suites.map(({ suite }) => suite)).toEqual(["seal"]);
    expect(baseline.suites[0]!.measurements[0]!.cost).toBeCloseTo(1);
    expect(baseline.suites[0]!.measurements[0]).toMatchObject({
      requests: 1,
      bytesSent: 1_000_040,
    });
    expect(parseBaseline(renderBaseline(baseline))).toEqual(baseline);
  });

  test("holds no absolute times", () => {
    expect(renderBaseline(baselineOf(REPORT))).not.toContain("0.004");
  });

  test.each([
    ["{", "is no JSON"],
    ["[]", "names no schema"],
    ['{"schema":"idk-bench/1"}', 'has the schema "idk-bench/1", not "idk-bench-baseline/1"'],
    ['{"schema":"idk-bench-baseline/1"}', "is damaged at createdAt"],
  ])("%p is refused", (text, message) => {
    expect(() => parseBaseline(text)).toThrow(message);
  });
});

describe("times against a baseline", () => {
  test("the same is the same", () => {
    expect(against(0.001)).toMatchObject({ verdict: "same", what: "time", tolerance: 0.1 });
  });

  test("a machine that is half as fast that day is not slower code", () => {
    expect(against(0.002, { slowness: 2 })).toMatchObject({ verdict: "same" });
    expect(against(0.001, { slowness: 2 })).toMatchObject({ verdict: "faster" });
  });

  test("slower needs both intervals apart by more than the tolerance", () => {
    // The intervals reach one percent to either side: 1.01 × 1.1 / 0.99 is where they part.
    expect(against(0.00112)).toMatchObject({ verdict: "same" });
    expect(against(0.00113)).toMatchObject({ verdict: "slower" });
    expect(against(0.00113).change).toBeCloseTo(0.13);
    expect(against(0.0009)).toMatchObject({ verdict: "same" });
    expect(against(0.00087)).toMatchObject({ verdict: "faster" });
  });

  test("what waits for a store may take longer", () => {
    expect(against(0.00113, { suite: "upload" })).toMatchObject({
      verdict: "same",
      tolerance: 0.3,
    });
    expect(against(0.0014, { suite: "upload" })).toMatchObject({ verdict: "slower" });
  });

  test("a tolerance of one's own replaces both", () => {
    expect(against(0.00113, { tolerance: 0.2 })).toMatchObject({ verdict: "same" });
    expect(against(0.0014, { suite: "upload", tolerance: 0.5 })).toMatchObject({ verdict: "same" });
  });
});

describe("a second run", () => {
  test("confirms what was slower in the first, and nothing else", () => {
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

describe("counts against a baseline", () => {
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

  test("one byte less is none", () => {
    const [sent, received] = changes(
      { bytesSent: 100, bytesReceived: 0 },
      { bytesSent: 99, bytesReceived: 1 },
    );
    expect(sent).toMatchObject({ what: "bytesSent", verdict: "less" });
    expect(received).toMatchObject({ what: "bytesReceived", verdict: "more", change: Infinity });
  });

  test("what only one of them counts is refused", () => {
    expect(() => changes({ requests: 1 }, {})).toThrow("this run does not count requests");
    expect(() => changes({}, { requests: 1 })).toThrow("the baseline does not count requests");
  });
});

describe("a baseline of something else", () => {
  const baseline = baselineOf(run("seal", [measurement("x", 1, { bytesPerOperation: 8 })]));
  const compare = (report: Report) => () => compareToBaseline(baseline, report, { io: IO });

  test.each<[string, Report, string]>([
    ["another suite", run("hash", []), "has no figures of hash; it has those of seal"],
    ["nothing", run("seal", []), 'it has "x" of 8 bytes, which this run did not measure'],
    [
      "another size",
      run("seal", [measurement("x", 1, { bytesPerOperation: 9 })]),
      "run both with the same sizes and flags",
    ],
    [
      "more",
      run("seal", [measurement("x", 1, { bytesPerOperation: 8 }), measurement("y", 1)]),
      'it has no "y", which this run measured',
    ],
  ])("%s is refused", (_, report, message) => {
    expect(compare(report)).toThrow(message);
  });

  test("another implementation of NaCl is refused", () => {
    const report = run("seal", [measurement("x", 1, { bytesPerOperation: 8 })]);
    const portable = { ...report, machine: { ...report.machine, nacl: "portable" as const } };
    expect(compare(portable)).toThrow("made with the native NaCl, and this run has the portable");
  });

  test("suites of it that were not run, and those that failed, are left alone", () => {
    const both: Report = { ...HEAD, suites: [result("seal"), result("hash")] };
    const one: Report = { ...HEAD, suites: [result("seal"), result("x", { status: "failed" })] };
    expect(compareToBaseline(baselineOf(both), one, { io: IO })).toEqual([]);
  });
});

describe("changes for people", () => {
  const changes = [against(0.001), against(0.0005), against(0.002)];

  test("regressions come first, and what is the same is counted", () => {
    expect(renderChanges(changes)).toMatchInlineSnapshot(`
      "against the baseline: 1 regression, 1 better, 1 the same
        suite  measurement  what          baseline    now    change  tolerance  verdict
        seal   x            time × bound     0.250  0.500  +100.0 %    +10.0 %  SLOWER
        seal   x            time × bound     0.250  0.125   −50.0 %    +10.0 %  faster"
    `);
    expect(changesMarkdown(changes)).toMatchInlineSnapshot(`
      "### against the baseline: 1 regression, 1 better, 1 the same

      | suite | measurement | what         | baseline |   now |   change | tolerance | verdict  |
      | :---- | :---------- | :----------- | -------: | ----: | -------: | --------: | :------- |
      | seal  | x           | time × bound |    0.250 | 0.500 | +100.0 % |   +10.0 % | ❌ slower |
      | seal  | x           | time × bound |    0.250 | 0.125 |  −50.0 % |   +10.0 % | ✅ faster |
      "
    `);
  });

  test("no change needs no table", () => {
    expect(renderChanges([against(0.001)])).toBe(
      "against the baseline: 0 regressions, 0 better, 1 the same",
    );
  });
});
