import { expect, test } from "bun:test";
import { leakVerdict } from "../src/leak-verdict.ts";

const MIB = 2 ** 20;
const rounds = Array.from({ length: 100 }, (_, i) => (i + 1) * 10);
/** What an allocator does: up and down by a megabyte, the same in every run. */
const restless = rounds.map((_, i) => 80 * MIB + ((i * 7919) % 17) * (MIB / 17));

test("memory that goes up and down does not grow", () => {
  expect(leakVerdict(rounds, restless).grows).toBe(false);
});

test("what is left by every round is growth, however little of the whole", () => {
  const leaking = restless.map((bytes, i) => bytes + 8192 * rounds[i]!);
  const verdict = leakVerdict(rounds, leaking);
  expect(verdict.grows).toBe(true);
  expect(Math.abs(verdict.perRound - 8192)).toBeLessThan(3 * verdict.error);
});

test("a rise while warming up is none", () => {
  const warming = restless.map((bytes, i) => bytes + Math.min(i, 25) * MIB);
  expect(leakVerdict(rounds, warming).grows).toBe(false);
});

test("no verdict on two samples", () => {
  expect(() => leakVerdict([1, 2], [MIB, MIB])).toThrow(RangeError);
});
