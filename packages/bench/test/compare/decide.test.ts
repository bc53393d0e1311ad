import { expect, test } from "bun:test";
import {
  QUANTITIES,
  changedCounters,
  confirmed,
  countersOf,
  intervalOf,
  isSettled,
  judge,
  ratioOf,
  verdictOf,
} from "../../src/compare/decide.ts";
import type { ProcessPair, ProcessSide, Target, Verdict } from "../../src/report/report.ts";
import { type Random, seededRandom } from "../../src/statistics/random.ts";

const normal = (random: Random) =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

const side = (cpu: readonly number[], memory = 100): ProcessSide => ({ cpu, elapsed: cpu, memory });

/** Pairs whose heads take `factor` as long, with variation between pairs. */
function pairs(factor: number, spread: number, count = 6, seed = 1): ProcessPair[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => {
    const own = factor * Math.exp(spread * normal(random));
    return { base: side([1, 1, 1]), head: side([own, own, own]) };
  });
}

const judged = (pairs: readonly ProcessPair[]) => judge("put", pairs, false);
const verdicts = (targets: readonly Target[]) => targets.map(({ verdict }) => verdict);
const [CPU, ELAPSED, MEMORY] = [QUANTITIES[0]!, QUANTITIES[1]!, QUANTITIES[2]!];

test("the ratio of a pair is the median over neighbouring batches, or of the peaks", () => {
  const pair = { base: side([1, 2, 4], 100), head: side([1.1, 2.2, 400], 150) };
  expect(ratioOf(pair, CPU)).toBeCloseTo(Math.log(1.1));
  expect(ratioOf(pair, MEMORY)).toBeCloseTo(Math.log(1.5));
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

test("a target shows the change with its interval, and the bound", () => {
  const [target] = judged(pairs(1.1, 0.01));
  expect(target).toMatchObject({ name: "put: CPU time", unit: "change", most: 0.025, kind: "cpu" });
  expect(target!.value).toBeWithin(0.09, 0.11);
  const { low, high, confidence } = target!.interval!;
  expect([low < target!.value, target!.value < high, confidence]).toEqual([true, true, 0.99]);
});

test("one pair decides nothing, and has no interval", () => {
  const one = judged(pairs(1, 0, 1));
  expect(verdicts(one)).toEqual(Array(3).fill("inconclusive"));
  expect(one.map(({ interval }) => interval)).toEqual([undefined, undefined, undefined]);
  expect(verdicts(judged(pairs(1.2, 0.01, 2)))).toEqual(["inconclusive", "inconclusive", "met"]);
});

test("equal sides and better heads meet the bounds; a clear difference misses them", () => {
  expect(verdicts(judged(pairs(1, 0.01)))).toEqual(["met", "met", "met"]);
  expect(verdicts(judged(pairs(1.1, 0.01)))).toEqual(["missed", "met", "met"]);
  expect(verdicts(judged(pairs(1.3, 0.01)))).toEqual(["missed", "missed", "met"]);
  expect(verdicts(judged(pairs(1 / 1.3, 0.01)))).toEqual(["met", "met", "met"]);
});

test.each<[typeof CPU, number, number, Verdict, Verdict?]>([
  [CPU, 0.025, 0.1, "missed"],
  // After the last pairs, the middle of a narrow interval decides.
  [CPU, 0.02, 0.1, "inconclusive", "missed"],
  [CPU, -0.02, 0.1, "inconclusive", "met"],
  [CPU, -0.05, 0.16, "inconclusive"],
  [CPU, -0.02, 0.087, "inconclusive", "met"],
  [CPU, -0.02, 0.086, "met"],
  [CPU, -0.2, -0.025, "met"],
  [ELAPSED, 0.096, 0.3, "missed"],
  [ELAPSED, -0.1, 0.263, "inconclusive", "met"],
  [ELAPSED, -0.1, 0.262, "met"],
  [MEMORY, 0.049, 0.2, "missed"],
  [MEMORY, 0, 0.139, "met"],
  // Too wide: never met, and missed only if the difference is larger.
  [CPU, -0.31, 0, "inconclusive"],
  [CPU, -0.9, -0.5, "inconclusive"],
  [CPU, 0.04, 0.4, "inconclusive"],
  [CPU, 0.2, 0.9, "missed"],
  [ELAPSED, -0.5, 0.2, "inconclusive"],
  [ELAPSED, 0.4, 1.1, "missed"],
])("of %o from %d to %d the verdict is %s", (quantity, low, high, verdict, last = verdict) => {
  expect(verdictOf({ low, high }, quantity, false)).toBe(verdict);
  expect(verdictOf({ low, high }, quantity, true)).toBe(last);
});

test("noise makes a verdict inconclusive, whatever the difference", () => {
  const noisy = judged(pairs(1, 0.3));
  expect(verdicts(noisy).slice(0, 2)).toEqual(["inconclusive", "inconclusive"]);
  expect(isSettled(noisy)).toBe(false);
  expect(isSettled(judged(pairs(1, 0.01)))).toBe(true);
  // What misses one bound may be open in another: it fails anyway, unless the first did not miss it.
  const both = pairs(1.15, 0.02).map(({ base, head }, i) => ({
    base,
    head: side(head.cpu, i % 2 === 0 ? 60 : 160),
  }));
  expect(verdicts(judged(both))).toEqual(["missed", "missed", "inconclusive"]);
  expect(isSettled(judged(both))).toBe(true);
  expect(isSettled(judged(both), judged(both))).toBe(true);
  expect(isSettled(judged(both), judged(pairs(1, 0.01)))).toBe(false);
});

test("a miss needs both attempts", () => {
  const [worse, same, noisy] = [pairs(1.1, 0.01), pairs(1, 0.01), pairs(1, 0.3)].map(judged);
  const cpu = (first: Target[], second: Target[]) => confirmed(first, second)[0]!.verdict;
  expect(cpu(worse!, worse!)).toBe("missed");
  expect(cpu(worse!, same!)).toBe("met");
  expect(cpu(worse!, noisy!)).toBe("inconclusive");
  expect(cpu(same!, worse!)).toBe("inconclusive");
});

test("counters are compared exactly; one that did not change or that one side lacks is no target", () => {
  const base = { GET: 1, bytesSent: 100, bytesReceived: 0, bytesHashed: 300, threads: 2 };
  const head = { ...base, GET: 1.25, bytesHashed: 299, threads: 0, storedOverhead: 4 };
  const changes = changedCounters(countersOf("put", base), countersOf("put", head));
  const exact = { unit: "count", kind: "exact" } as const;
  expect(changes).toEqual([
    {
      name: "put: GET requests, against the base",
      value: 1.25,
      most: 1,
      ...exact,
      verdict: "missed",
    },
    {
      name: "put: bytes hashed, against the base",
      value: 299,
      most: 300,
      ...exact,
      verdict: "met",
    },
    {
      name: "put: threads, against the base",
      value: 0,
      least: 2,
      most: 2,
      ...exact,
      verdict: "missed",
    },
  ]);
  expect(countersOf("put", { bytesSent: 100, GET: 1 })).toEqual([
    { name: "put: GET requests", value: 1, unit: "count" },
    { name: "put: bytes sent", value: 100, unit: "bytes" },
  ]);
});
