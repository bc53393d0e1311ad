import { describe, expect, test } from "bun:test";
import type { Target } from "../src/report/report.ts";
import { confirmed, runSuite } from "../src/run-suite.ts";
import { fakeSuite } from "./command/fake-context.ts";
import { result, target } from "./report/fixtures.ts";

test("a suite runs with the settings of a run without flags", async () => {
  const suite = fakeSuite("one");
  const { status, seconds, targets, pairs } = await runSuite(suite, { iterations: 3 });
  expect([status, targets.length, pairs]).toEqual(["completed", 1, []]);
  expect(seconds).toBeGreaterThan(0);
  expect(suite.contexts[0]).toMatchObject({ quick: false, seed: 1, iterations: 3 });
});

test("a suite is skipped without what it needs, and failed if it throws", async () => {
  const outcome = async (more: Parameters<typeof fakeSuite>[1]) => {
    const { status, reason } = await runSuite(fakeSuite("one", more));
    return [status, reason];
  };
  expect(await outcome({ needsObjectStore: true })).toEqual(["skipped", "no object store"]);
  expect(await outcome({ missing: () => "no rclone" })).toEqual(["skipped", "no rclone"]);
  const run = () => Promise.reject(new Error("HTTP 500"));
  expect(await outcome({ run })).toEqual(["failed", "HTTP 500"]);
});

describe("of two measurements of a suite", () => {
  const [good, bad] = [target("put", 1, 1.1), target("put", 2, 1.1)];
  const exact = (one: Target): Target => ({ ...one, kind: "exact" });
  const decide = (first: Target, second: Target) => {
    const [before, after] = [first, second].map((one) => result("one", { targets: [one] }));
    const { targets, notes } = confirmed(before!, after!);
    return [targets[0]!.value, targets[0]!.verdict, notes];
  };

  test("the second decides what the first missed", () => {
    const note = (then: string) => [`put: measured twice, 2.00, missed; then ${then}; ≤ 1.10`];
    expect(decide(bad, good)).toEqual([1, "met", note("1.00, met")]);
    expect(decide(bad, bad)).toEqual([2, "missed", note("2.00, missed")]);
    expect(decide(good, good)).toEqual([1, "met", []]);
  });

  test("what the first did not miss stays as it was, and so does what was not measured again", () => {
    expect(decide(good, bad)).toEqual([1, "met", []]);
    const unclear: Target = { ...bad, verdict: "inconclusive" };
    expect(decide(unclear, bad)).toEqual([2, "inconclusive", []]);
    expect(decide(bad, { ...good, name: "other" })).toEqual([2, "missed", []]);
  });

  test("the second decides a missed exponent of times", () => {
    const exponent = (one: Target): Target => ({ ...one, kind: "exact", unit: "exponent" });
    expect(decide(exponent(bad), exponent(good)).slice(0, 2)).toEqual([1, "met"]);
    expect(decide(exponent(good), exponent(bad)).slice(0, 2)).toEqual([1, "met"]);
  });

  test("a count that is wrong once is missed", () => {
    expect(decide(exact(bad), exact(good)).slice(0, 2)).toEqual([2, "missed"]);
    expect(decide(exact(good), exact(bad)).slice(0, 2)).toEqual([2, "missed"]);
  });

  test("the time of both is counted, and a failure of the second is one", () => {
    const first = result("one", { seconds: 2, targets: [bad] });
    const second = { ...result("one", { targets: [good] }), seconds: 3 };
    expect(confirmed(first, second)).toMatchObject({ seconds: 5, status: "completed" });
    const failed = result("one", { status: "failed", reason: "HTTP 500", targets: [] });
    expect(confirmed(first, failed)).toEqual(failed);
  });
});
