import { expect, test } from "bun:test";
import { leakTarget } from "../../src/suites/processor/leaks.ts";
import { runTiny } from "./run-tiny.ts";

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

const MIB = 2 ** 20;
const rounds = Array.from({ length: 100 }, (_, i) => (i + 1) * 10);
/** Fluctuates by a megabyte like an allocator, deterministically. */
const fluctuating = rounds.map((_, i) => 80 * MIB + ((i * 7919) % 17) * (MIB / 17));
const judge = (bytes: readonly number[], most = 2048) => {
  const points = bytes.map((rss, i) => ({ rss, rounds: rounds[i]! }));
  return leakTarget("growth", points, most);
};

test("fluctuating memory does not grow", () => {
  expect(judge(fluctuating)).toMatchObject({ verdict: "met", most: 2048, unit: "bytes" });
});

test("a small leak in every round is growth", () => {
  const { value, verdict, interval } = judge(
    fluctuating.map((bytes, i) => bytes + 8192 * rounds[i]!),
  );
  expect(verdict).toBe("missed");
  expect(interval!.low).toBeLessThan(8192);
  expect(interval!.high).toBeGreaterThan(8192);
  expect(Math.abs(value - 8192)).toBeLessThan(1000);
});

test("growth during the warm-up is ignored", () => {
  expect(judge(fluctuating.map((bytes, i) => bytes + Math.min(i, 25) * MIB)).verdict).toBe("met");
});

test("noise that would hide a leak is inconclusive", () => {
  const noisy = fluctuating.map((bytes, i) => bytes + ((i * 104_729) % 31) * 4 * MIB);
  expect(judge(noisy).verdict).toBe("inconclusive");
  expect(judge(noisy, MIB).verdict).toBe("met");
});

test("rejects two samples", () => {
  expect(() => judge([MIB, MIB])).toThrow(RangeError);
});
