import { expect, test } from "bun:test";
import type { Round } from "../../src/compare/comparison.ts";
import { compareCounts, judge, verdictOf } from "../../src/compare/decide.ts";
import { seededRandom } from "../../src/statistics/random.ts";

const random = seededRandom(7);

/** Rounds whose times vary by the given share, deterministically. */
function rounds(slowdown: number, spread: number, count = 20): Round[] {
  const wave = (i: number, step: number) => 1 + spread * (((i * step) % 11) / 5 - 1);
  return Array.from({ length: count }, (_, i) => ({
    base: wave(i, 3),
    again: wave(i, 7),
    head: wave(i, 5) * slowdown,
  }));
}

test("equal sides are the same, with the task's own tolerance on a quiet machine", () => {
  const quiet = judge(rounds(1, 0.005), "cpu", random);
  expect(quiet.verdict).toBe("same");
  expect(quiet.tolerance).toBe(Math.log(1.05));
  expect(judge(rounds(1, 0.005), "io", random).tolerance).toBe(Math.log(1.15));
});

test("a difference beyond the tolerance is slower or faster", () => {
  expect(judge(rounds(1.12, 0.01), "cpu", random).verdict).toBe("slower");
  expect(judge(rounds(1 / 1.12, 0.01), "cpu", random).verdict).toBe("faster");
  expect(judge(rounds(1.12, 0.01), "io", random).verdict).toBe("same");
  expect(judge(rounds(1.2, 0.01), "io", random).verdict).toBe("slower");
  expect(judge(rounds(1.03, 0.01), "cpu", random).verdict).toBe("same");
});

test("on a noisy machine, the tolerance is twice the noise of the base", () => {
  const noisy = judge(rounds(1.12, 0.3), "cpu", random);
  expect(noisy.tolerance).toBe(2 * noisy.noise);
  expect(noisy.tolerance).toBeGreaterThan(Math.log(1.12));
  expect(noisy.verdict).not.toBe("slower");
});

test("ratios are logarithms in the order of the rounds", () => {
  const { ratios, median, interval } = judge(
    [
      { base: 1, again: 1, head: 2 },
      { base: 2, again: 2, head: 1 },
    ],
    "cpu",
    random,
  );
  expect(ratios).toEqual([Math.LN2, -Math.LN2]);
  expect(median).toBe(0);
  expect(interval).toEqual({ low: -Math.LN2, high: Math.LN2, confidence: 0.99 });
});

test("the position of the interval determines the verdict", () => {
  const at = (low: number, high: number) => verdictOf({ low, high, confidence: 0.99 }, 0.05);
  expect(at(0.051, 0.1)).toBe("slower");
  expect(at(0.05, 0.1)).toBe("inconclusive");
  expect(at(-0.1, 0.1)).toBe("inconclusive");
  expect(at(-0.01, 0.05)).toBe("same");
  expect(at(-0.1, -0.04)).toBe("same");
  expect(at(-0.1, -0.051)).toBe("faster");
});

test("compares counters exactly, and omits those of one side only", () => {
  const base = { requests: 1, bytesSent: 100, bytesReceived: 0, bytesHashed: 300 };
  const head = { ...base, requests: 1.25, bytesHashed: 299, storedOverhead: 4 };
  expect(compareCounts(base, head)).toEqual([
    { name: "requests", base: 1, head: 1.25, change: "more" },
    { name: "bytesSent", base: 100, head: 100, change: "none" },
    { name: "bytesReceived", base: 0, head: 0, change: "none" },
    { name: "bytesHashed", base: 300, head: 299, change: "less" },
  ]);
});
