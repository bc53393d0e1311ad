import { expect, test } from "bun:test";
import {
  type Attempt,
  type Comparison,
  type TaskComparison,
  comparisonSchema,
} from "../../src/compare/comparison.ts";
import {
  comparisonLines,
  comparisonMarkdown,
  difference,
  failuresOf,
  percent,
  summaryOf,
} from "../../src/compare/render.ts";

const attempt: Attempt = {
  rounds: [{ base: 1, again: 1, head: 1 }],
  ratios: [0],
  median: Math.log(1.1),
  interval: { low: Math.log(1.06), high: Math.log(1.2), confidence: 0.99 },
  noise: 0.01,
  tolerance: Math.log(1.05),
  verdict: "slower",
};

const task: TaskComparison = {
  task: "put-memory",
  title: "seal and put",
  bound: "cpu",
  attempts: [attempt, attempt],
  verdict: "slower",
  counters: [
    { name: "bytesHashed", base: 8_389_325, head: 8_389_325.5, change: "more" },
    { name: "requests", base: 2, head: 1, change: "less" },
  ],
  passed: false,
};

const comparison: Comparison = {
  schema: "idk-bench-comparison/1",
  createdAt: "2026-01-01T00:00:00.000Z",
  seconds: 12,
  machine: {
    processor: "a processor",
    cores: 2,
    memory: 1,
    system: "linux",
    runtime: "Bun",
    nacl: "native",
  },
  base: { name: "main", commit: "a".repeat(40) },
  head: { name: "a|b<i>", commit: "b".repeat(40) },
  seed: 1,
  tasks: [task],
  skipped: [{ task: "put-store", reason: "no object store was given" }],
  failures: failuresOf([task]),
};

test("formats logarithmic ratios as percentages", () => {
  expect(percent(Math.log(1.049))).toBe("+4.9 %");
  expect(percent(Math.log(0.951))).toBe("−4.9 %");
  expect(percent(0)).toBe("+0.0 %");
  expect(difference(attempt)).toBe("+10.0 % (+6.0 % to +20.0 %)");
});

test("failures list slower times and larger counters, but not smaller ones", () => {
  expect(comparison.failures).toEqual([
    "put-memory: +10.0 % in time, slower in both measurements; at least +6.0 % with 99 % confidence, tolerance +5.0 %",
    "put-memory: bytes hashed 8,389,325 → 8,389,325.5 per operation",
  ]);
  expect(summaryOf(comparison)).toBe(
    "a|b<i> (bbbbbbbbbbbb) against main (aaaaaaaaaaaa): 2 regressions",
  );
});

test("the terminal table and Markdown show failures, improvements and skipped tasks", () => {
  const lines = comparisonLines(comparison).join("\n");
  const markdown = comparisonMarkdown(comparison);
  for (const text of [lines, markdown]) {
    for (const expected of [
      "8,389,325 → 8,389,325.5",
      "requests 2 → 1",
      "slower, measured twice",
    ]) {
      expect(text).toContain(expected);
    }
    expect(text).toContain("put-store, no object store was given");
  }
  expect(lines).toContain("FAILED: put-memory: +10.0 %");
  expect(markdown).toStartWith("### ❌ ");
  const passed = { ...comparison, tasks: [], failures: [] };
  expect(comparisonMarkdown(passed)).toStartWith("### ✅ ");
  expect(comparisonLines(passed).join("\n")).not.toContain("FAILED");
});

test("escapes Markdown in branch names", () => {
  const [title] = comparisonMarkdown(comparison).split("\n");
  expect(title).toContain(String.raw`a\|b\<i\>`);
});

test("the schema accepts a comparison and rejects anything else", () => {
  expect(comparisonSchema.parse(comparison)).toEqual(comparison);
  for (const wrong of [{ base: { name: "main", commit: "a" } }, { more: 1 }, { seed: 0.5 }]) {
    expect(comparisonSchema.safeParse({ ...comparison, ...wrong }).success).toBe(false);
  }
});
