import { expect, test } from "bun:test";
import { leakTarget } from "../../src/harness/targets.ts";

const MIB = 2 ** 20;
const rounds = Array.from({ length: 100 }, (_, i) => (i + 1) * 10);
/** Fluctuates by a megabyte like an allocator, deterministically. */
const fluctuating = rounds.map((_, i) => 80 * MIB + ((i * 7919) % 17) * (MIB / 17));
const judge = (bytes: readonly number[], most = 2048) => {
  const points = rounds.map((round, i) => [round, bytes[i]!] as const);
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
  const two = [
    [1, MIB],
    [2, MIB],
  ] as const;
  expect(() => leakTarget("growth", two, 1)).toThrow(RangeError);
});
