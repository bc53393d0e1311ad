import { expect, test } from "bun:test";
import type { Attempt, Pair, Quantity, Side, Verdict } from "../../src/compare/comparison.ts";
import {
  compareCounts,
  intervalOf,
  isSettled,
  judge,
  ratioOf,
  verdictOf,
  verdictsOf,
} from "../../src/compare/decide.ts";
import { type Random, seededRandom } from "../../src/statistics/random.ts";

const normal = (random: Random) =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

const side = (cpu: readonly number[], memory = 100): Side => ({
  cpu,
  elapsed: cpu,
  memory,
  memoryInTotal: memory,
});

/** Pairs whose heads take `factor` as long, with variation between pairs. */
function pairs(factor: number, spread: number, count = 6, seed = 1): Pair[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => {
    const own = factor * Math.exp(spread * normal(random));
    return { base: side([1, 1, 1]), head: side([own, own, own]) };
  });
}

const verdicts = (attempt: Attempt) => attempt.estimates.map(({ verdict }) => verdict);

test("the ratio of a pair is the median over neighbouring batches, or of the peaks", () => {
  const pair = { base: side([1, 2, 4], 100), head: side([1.1, 2.2, 400], 150) };
  expect(ratioOf(pair, "cpu")).toBeCloseTo(Math.log(1.1));
  expect(ratioOf(pair, "memory")).toBeCloseTo(Math.log(1.5));
});

/** Every tenth is far off, as if something had disturbed the process. */
const disturbed = (random: Random) => normal(random) * (random() < 0.1 ? 8 : 1);

/** The share of intervals without the true value, and their mean half width. */
function simulated(count: number, draw: (random: Random) => number): [number, number] {
  const random = seededRandom(3);
  const intervals = Array.from({ length: 4000 }, () =>
    intervalOf(Array.from({ length: count }, () => draw(random))),
  );
  const missed = intervals.filter(({ low, high }) => low > 0 || high < 0).length;
  const widths = intervals.map(({ low, high }) => (high - low) / 2);
  return [missed / 4000, widths.reduce((sum, width) => sum + width) / 4000];
}

test("the interval of the mean of pairs keeps its confidence", () => {
  for (const count of [3, 6, 9, 12, 24, 40]) {
    expect(simulated(count, normal)[0]).toBeWithin(0.005, 0.016);
    expect(simulated(count, disturbed)[0]).toBeWithin(0, 0.016);
  }
});

test("disturbed pairs hardly widen the interval", () => {
  const [, quiet] = simulated(24, normal);
  const [, noisy] = simulated(24, disturbed);
  expect(quiet).toBeWithin(0.55, 0.68);
  expect(noisy / quiet).toBeLessThan(2);
});

test("one pair decides nothing", () => {
  expect(verdicts(judge(pairs(1, 0, 1)))).toEqual(Array(3).fill("inconclusive"));
  expect(verdicts(judge(pairs(1.2, 0.01, 2)))).toEqual(["inconclusive", "inconclusive", "same"]);
});

test("equal sides are the same; a clear difference is worse or better", () => {
  expect(verdicts(judge(pairs(1, 0.01)))).toEqual(["same", "same", "same"]);
  expect(verdicts(judge(pairs(1.1, 0.01)))).toEqual(["worse", "same", "same"]);
  expect(verdicts(judge(pairs(1.3, 0.01)))).toEqual(["worse", "worse", "same"]);
  expect(verdicts(judge(pairs(1 / 1.3, 0.01)))).toEqual(["better", "better", "same"]);
});

test("the position of the interval determines the verdict", () => {
  const at = (quantity: Quantity, low: number, high: number, last = false): Verdict =>
    verdictOf({ low, high, confidence: 0.99 }, quantity, last);
  expect(at("cpu", 0.025, 0.1)).toBe("worse");
  expect(at("cpu", 0.024, 0.1)).toBe("inconclusive");
  expect(at("cpu", -0.02, 0.087)).toBe("inconclusive");
  expect(at("cpu", -0.02, 0.086)).toBe("same");
  expect(at("cpu", -0.2, -0.025)).toBe("better");
  expect(at("elapsed", 0.096, 0.3)).toBe("worse");
  expect(at("elapsed", -0.1, 0.263)).toBe("inconclusive");
  expect(at("elapsed", -0.1, 0.262)).toBe("same");
  expect(at("memory", 0.049, 0.2)).toBe("worse");
  expect(at("memory", 0, 0.139)).toBe("same");
});

test("after the last pairs, the middle of a narrow interval decides", () => {
  const at = (low: number, high: number, last: boolean): Verdict =>
    verdictOf({ low, high, confidence: 0.99 }, "cpu", last);
  expect(at(0.02, 0.1, false)).toBe("inconclusive");
  expect(at(0.02, 0.1, true)).toBe("worse");
  expect(at(-0.02, 0.1, true)).toBe("same");
  // Wider to each side than the 9 % that must be found.
  expect(at(-0.05, 0.16, true)).toBe("inconclusive");
});

test("an interval that is too wide is never the same, and worse only if the difference is larger", () => {
  const at = (quantity: Quantity, low: number, high: number): Verdict =>
    verdictOf({ low, high, confidence: 0.99 }, quantity, true);
  expect(at("cpu", -0.31, 0)).toBe("inconclusive");
  expect(at("cpu", -0.9, -0.5)).toBe("inconclusive");
  expect(at("cpu", 0.04, 0.4)).toBe("inconclusive");
  expect(at("cpu", 0.2, 0.9)).toBe("worse");
  expect(at("elapsed", -0.5, 0.2)).toBe("inconclusive");
  expect(at("elapsed", 0.4, 1.1)).toBe("worse");
});

test("noise makes a verdict inconclusive, whatever the difference", () => {
  const noisy = judge(pairs(1, 0.3));
  expect(verdicts(noisy).slice(0, 2)).toEqual(["inconclusive", "inconclusive"]);
  expect(isSettled(noisy)).toBe(false);
  expect(isSettled(judge(pairs(1, 0.01)))).toBe(true);
  // What is worse in one quantity may be open in another.
  const both = pairs(1.15, 0.02).map(({ base, head }, i) => ({
    base,
    head: side(head.cpu, i % 2 === 0 ? 60 : 160),
  }));
  expect(verdicts(judge(both))).toEqual(["worse", "worse", "inconclusive"]);
  expect(isSettled(judge(both))).toBe(false);
});

test("worse needs both attempts", () => {
  const [worse, same, noisy] = [pairs(1.1, 0.01), pairs(1, 0.01), pairs(1, 0.3)].map((each) =>
    judge(each),
  );
  const cpu = (...attempts: Attempt[]) => verdictsOf(attempts).cpu;
  expect(cpu(worse!)).toBe("worse");
  expect(cpu(worse!, worse!)).toBe("worse");
  expect(cpu(worse!, same!)).toBe("same");
  expect(cpu(worse!, noisy!)).toBe("inconclusive");
  expect(cpu(same!, worse!)).toBe("inconclusive");
});

test("compares counters exactly, and omits those of one side only", () => {
  const base = { GET: 1, bytesSent: 100, bytesReceived: 0, bytesHashed: 300, threads: 2 };
  const head = { ...base, GET: 1.25, bytesHashed: 299, threads: 0, storedOverhead: 4 };
  expect(compareCounts(base, head)).toEqual([
    { name: "GET", base: 1, head: 1.25, change: "more" },
    { name: "bytesSent", base: 100, head: 100, change: "none" },
    { name: "bytesReceived", base: 0, head: 0, change: "none" },
    { name: "bytesHashed", base: 300, head: 299, change: "less" },
    { name: "threads", base: 2, head: 0, change: "less" },
  ]);
});
