import { expect, test } from "bun:test";
import { isMet } from "../../src/harness/measure.ts";
import { leakVerdict, peakTargets } from "../../src/statistics/memory-verdicts.ts";

const MIB = 2 ** 20;
const rounds = Array.from({ length: 100 }, (_, i) => (i + 1) * 10);
/** Fluctuates by a megabyte like an allocator, deterministically. */
const fluctuating = rounds.map((_, i) => 80 * MIB + ((i * 7919) % 17) * (MIB / 17));

test("fluctuating memory does not grow", () => {
  expect(leakVerdict(rounds, fluctuating).grows).toBe(false);
});

test("a small leak in every round is growth", () => {
  const leaking = fluctuating.map((bytes, i) => bytes + 8192 * rounds[i]!);
  const verdict = leakVerdict(rounds, leaking);
  expect(verdict.grows).toBe(true);
  expect(Math.abs(verdict.perRound - 8192)).toBeLessThan(3 * verdict.error);
});

test("growth during the warm-up is ignored", () => {
  const warming = fluctuating.map((bytes, i) => bytes + Math.min(i, 25) * MIB);
  expect(leakVerdict(rounds, warming).grows).toBe(false);
});

test("rejects two samples", () => {
  expect(() => leakVerdict([1, 2], [MIB, MIB])).toThrow(RangeError);
});

test("the median peak may be a tenth above that of the shortest stream", () => {
  const peaks = new Map([
    [2048, [130, 110, 500]],
    [256, [100, 90, 120]],
    [1024, [110, 110, 110]],
  ]);
  const [middle, long, ...others] = peakTargets("get", peaks);
  expect(others).toEqual([]);
  expect(middle).toMatchObject({ name: "get of 1024 MiB: times the peak of 256 MiB", value: 1.1 });
  expect(isMet(middle!)).toBe(true);
  expect(long!.value).toBeCloseTo(1.3, 10);
  expect(isMet(long!)).toBe(false);
});

test("a single size has no target", () => {
  expect(peakTargets("put", new Map([[256, [100]]]))).toEqual([]);
});
