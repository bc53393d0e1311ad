import { expect, test } from "bun:test";
import type { Target, Verdict } from "../../src/report/report.ts";
import { decisive } from "../../src/suites/processor/leaks.ts";
import { runTiny } from "./run-tiny.ts";

const after = (...verdicts: Verdict[]) =>
  decisive(
    verdicts.map((verdict): Target => ({
      name: "growth",
      value: 1,
      unit: "bytes",
      most: 2,
      kind: "exact",
      verdict,
    })),
  )?.verdict;

test("one run that keeps the bound does not undo a miss", () => {
  expect(after("met")).toBe("met");
  expect(after("inconclusive", "met")).toBe("met");
  expect(after("missed")).toBeUndefined();
  expect(after("missed", "missed")).toBe("missed");
  expect(after("missed", "met")).toBeUndefined();
  expect(after("missed", "inconclusive", "met")).toBeUndefined();
  expect(after("missed", "met", "met")).toBe("met");
  expect(after("missed", "met", "missed")).toBe("missed");
  expect(after("inconclusive", "inconclusive")).toBeUndefined();
});

test("reads back every content, traces memory, and judges each use", async () => {
  const { measurements, targets } = await runTiny("leaks");
  expect(measurements.map(({ name }) => name)).toEqual([
    "10 rounds, one by one",
    "10 rounds, compressed",
    "10 rounds, many small",
    "10 rounds, with threads",
  ]);
  for (const { memory } of measurements) expect(memory).toHaveLength(10);
  expect(targets.map(({ name, most }) => [name, most])).toEqual([
    ["one by one: growth in each round", 2048],
    ["compressed: growth in each round", 2048],
    ["many small: growth in each round", 2048],
    ["with threads: growth in each round", 40_960],
  ]);
}, 120_000);
