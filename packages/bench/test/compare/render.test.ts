import { expect, test } from "bun:test";
import {
  type Comparison,
  type Pair,
  type TaskComparison,
  comparisonSchema,
} from "../../src/compare/comparison.ts";
import { judge, verdictsOf } from "../../src/compare/decide.ts";
import {
  comparisonLines,
  comparisonMarkdown,
  difference,
  percent,
  problemsOf,
  summaryOf,
} from "../../src/compare/render.ts";

const side = (cpu: number, elapsed: number) => ({
  cpu: [cpu],
  elapsed: [elapsed],
  memory: 50e6,
  memoryInTotal: 60e6,
});

/** Alternately below and above, so that there is an interval. */
const pairs = (cpu: number, elapsed: number, spread: number): Pair[] =>
  Array.from({ length: 6 }, (_, i) => ({
    base: side(1, 1),
    head: side(
      cpu * Math.exp(i % 2 === 0 ? 0.01 : -0.01),
      elapsed * Math.exp(i % 2 ? spread : -spread),
    ),
  }));

const attempt = judge(pairs(1.1, 1, 0.3));

const task: TaskComparison = {
  task: "put-memory",
  title: "seal and put",
  attempts: [attempt, attempt],
  verdicts: verdictsOf([attempt, attempt]),
  counters: [
    { name: "bytesHashed", base: 8_389_325, head: 8_389_325.5, change: "more" },
    { name: "HEAD", base: 2, head: 1, change: "less" },
    { name: "threads", base: 2, head: 1, change: "less" },
  ],
  passed: false,
};

const comparison: Comparison = {
  schema: "idk-bench-comparison/2",
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
  ...problemsOf([task], false),
};

test("formats logarithmic ratios as percentages", () => {
  expect(percent(Math.log(1.049))).toBe("+4.9 %");
  expect(percent(Math.log(0.951))).toBe("−4.9 %");
  expect(percent(0)).toBe("+0.0 %");
  expect(difference(attempt.estimates[0]!)).toBe("+10.0 % ± 1.8 %");
  const [unknown] = judge(pairs(1, 1, 0).slice(0, 1)).estimates;
  expect(difference(unknown!)).toBe("+1.0 % ± ?");
});

test("failures list what is worse and counters that are, but not smaller ones", () => {
  expect(comparison.failures).toEqual([
    "put-memory: CPU time +10.0 % ± 1.8 %, worse in both measurements; at least +8.0 % with 99 % confidence, tolerance +2.5 %",
    "put-memory: bytes hashed 8,389,325 → 8,389,325.5 per operation",
    "put-memory: threads 2 → 1",
  ]);
  expect(comparison.warnings).toEqual(["put-memory: elapsed time +0.0 % ± 71.8 %, inconclusive"]);
  expect(summaryOf(comparison)).toBe(
    "a|b<i> (bbbbbbbbbbbb) against main (aaaaaaaaaaaa): 3 regressions in 1 task, 1 inconclusive",
  );
});

test("the terminal table and Markdown show failures, warnings, improvements and skipped tasks", () => {
  const lines = comparisonLines(comparison).join("\n");
  const markdown = comparisonMarkdown({ ...comparison, rtt: 50 });
  for (const text of [lines, markdown]) {
    for (const expected of [
      "8,389,325 → 8,389,325.5",
      "HEAD requests 2 → 1",
      "+10.0 % ± 1.8 % worse",
      "± 71.8 % inconclusive",
      "6 + 6",
      "2.5 % of CPU time",
      "put-store, no object store was given",
    ]) {
      expect(text).toContain(expected);
    }
  }
  expect(lines).toContain("FAILED: put-memory: CPU time +10.0 %");
  expect(lines).toContain("warning: put-memory: elapsed time");
  expect(markdown).toContain("Round trip to the store: 50 ms more.");
});

test("the mark in Markdown shows the worst that there is", () => {
  expect(comparisonMarkdown(comparison)).toStartWith("### ❌ ");
  const unclear = { ...comparison, failures: [] };
  expect(comparisonMarkdown(unclear)).toStartWith("### ⚠️ ");
  const passed = { ...unclear, tasks: [], warnings: [] };
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
