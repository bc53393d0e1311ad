import { describe, expect, test } from "bun:test";
import { type Strictness, conclude, problemsOf } from "../../src/report/outcome.ts";
import type { Report, SuiteResult, Target } from "../../src/report/report.ts";
import { HEAD, result, target } from "./fixtures.ts";

function inconclusive(kind: Target["kind"]): Target {
  return { ...target(`put, ${kind}`, 1, 1.1), kind, verdict: "inconclusive" };
}

/** "failure seal put by bound: missed its target", and so on. */
function problems(
  suites: readonly SuiteResult[],
  { strict = false, ci = false, ...more }: Partial<Strictness & Report> = {},
): string[] {
  return problemsOf({ ...HEAD, ...more, suites }, { strict, ci }).map(
    ({ level, suite, target, message }) =>
      [level, suite, target?.name, message].filter((word) => word !== undefined).join(" | "),
  );
}

const seal = (...targets: Target[]): SuiteResult => result("seal", { targets });

describe("a run", () => {
  test("has no problems if all targets are met", () => {
    expect(problems([seal(target("put", 1, 1.1))], { strict: true, ci: true })).toEqual([]);
  });

  test("fails if a target is missed", () => {
    expect(problems([seal(target("put", 2, 1.1))])).toEqual([
      "failure | seal | put | missed its target",
    ]);
  });

  test("fails if a value left the baseline, and says how that can be meant", () => {
    expect(problems([seal(target("put, against the baseline", 2, 1.1))])).toEqual([
      "failure | seal | put, against the baseline | missed its target; if the change is meant, update the baseline with its reason",
    ]);
  });

  test("passes with a warning if a target is inconclusive", () => {
    expect(problems([seal(inconclusive("wall"), inconclusive("cpu"))])).toEqual([
      "warning | seal | put, wall | is inconclusive",
      "warning | seal | put, cpu | is inconclusive",
    ]);
  });

  test("that is strict fails if CPU time or a counter is inconclusive, not elapsed time", () => {
    const targets = [inconclusive("wall"), inconclusive("cpu"), inconclusive("exact")];
    expect(problems([seal(...targets)], { strict: true })).toEqual([
      "failure | seal | put, cpu | is inconclusive",
      "failure | seal | put, exact | is inconclusive",
      "warning | seal | put, wall | is inconclusive",
    ]);
  });

  test("fails if a suite failed, and in CI if one was skipped", () => {
    const suites = [
      result("upload", { status: "skipped", reason: "no object store" }),
      result("broken", { status: "failed", reason: "HTTP 500" }),
    ];
    expect(problems(suites)).toEqual([
      "failure | broken | failed: HTTP 500",
      "warning | upload | skipped: no object store",
    ]);
    expect(problems(suites, { ci: true })).toEqual([
      "failure | upload | skipped: no object store",
      "failure | broken | failed: HTTP 500",
    ]);
  });

  test("fails without the native NaCl, even if it is quick", () => {
    const machine = { ...HEAD.machine, nacl: "portable" as const };
    for (const quick of [true, false]) {
      expect(problems([seal(target("put", 1, 1.1))], { machine, quick })).toEqual([
        "failure | the NaCl in JavaScript was used: sodium-native did not load",
      ]);
    }
  });

  test("that is quick never fails because of a target", () => {
    const targets = [target("put", 2, 1.1), inconclusive("cpu")];
    expect(problems([seal(...targets)], { quick: true, strict: true })).toEqual([]);
    const broken = result("broken", { status: "failed", reason: "HTTP 500" });
    expect(problems([broken], { quick: true })).toEqual(["failure | broken | failed: HTTP 500"]);
  });
});

/** "bad: Benchmarks failed: …" */
function conclusion(suites: readonly SuiteResult[], quick = false): string {
  const report = { ...HEAD, suites, quick };
  const { tone, headline } = conclude(report, problemsOf(report, { strict: false, ci: false }));
  return `${tone}: ${headline}`;
}

test("only a run that judged something, and found nothing, passes", () => {
  const skipped = result("upload", { status: "skipped", reason: "no object store" });
  const met = seal(target("put", 1, 1.1));
  expect(conclusion([met])).toBe("good: Benchmarks passed: 1 of 1 target met");
  expect(conclusion([met, skipped])).toBe(
    "unclear: Benchmarks passed with warnings: 1 of 1 measured target met, 1 suite skipped",
  );
  expect(conclusion([skipped])).toBe("unclear: Benchmarks not judged: no targets, 1 suite skipped");
  const targets = [target("put", 1, 1.1), target("get", 2, 1.1), inconclusive("wall")];
  const verdicts = "1 of 3 measured targets met, 1 missed, 1 inconclusive, 1 suite skipped";
  const both = [seal(...targets), skipped];
  expect(conclusion(both)).toBe(`bad: Benchmarks failed: ${verdicts}`);
  expect(conclusion(both, true)).toBe(`unclear: Benchmarks not judged: ${verdicts}`);
});
