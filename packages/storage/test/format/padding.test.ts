import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { padme } from "../../src/format/padding.ts";

const MAX = 2 ** 53 - 1;

/** Algorithm 1 of the paper, in whole numbers of any size. */
function padmeOfPaper(length: bigint): bigint {
  if (length < 2n) return length;
  const floorLog2 = (value: bigint) => BigInt(value.toString(2).length - 1);
  const E = floorLog2(length);
  const S = floorLog2(E) + 1n;
  const mask = E > S ? (1n << (E - S)) - 1n : 0n;
  return (length + mask) & ~mask;
}

const expected = (length: number) => Number(padmeOfPaper(BigInt(length)));

/** Small and large lengths with equal probability. */
const length = fc
  .tuple(fc.maxSafeNat(), fc.nat(52))
  .map(([value, bits]) => Math.floor(value / 2 ** bits));

describe("Padmé", () => {
  test.each([
    [0, 0],
    [1, 1],
    [2, 2],
    [8, 8],
    [9, 10],
    [100, 104],
    [1000, 1024],
    [1025, 1088],
    [2 ** 20 + 1, 2 ** 20 + 2 ** 15],
  ])("pads %d to %d", (length, padded) => {
    expect(padme(length)).toBe(padded);
  });

  test("matches the paper for all lengths to 10,000", () => {
    for (let length = 0; length <= 10_000; length++) expect(padme(length)).toBe(expected(length));
  });

  test("matches the paper on both sides of every power of two", () => {
    for (let k = 1; k <= 53; k++) {
      for (const length of [2 ** k - 1, 2 ** k, 2 ** k + 1]) {
        if (length <= MAX) expect(padme(length)).toBe(expected(length));
      }
    }
  });

  test("matches the paper for any length", () => {
    fc.assert(
      fc.property(length, (length) => {
        expect(padme(length)).toBe(expected(length));
      }),
      { numRuns: 5000 },
    );
  });

  test("never shortens, adds at most 12 %, and does not change a padded length", () => {
    fc.assert(
      fc.property(length, (length) => {
        const padded = padme(length);
        expect(padded).toBeGreaterThanOrEqual(length);
        expect(padded - length).toBeLessThanOrEqual(0.12 * length);
        expect(padme(padded)).toBe(padded);
      }),
      { numRuns: 2000 },
    );
  });

  test("keeps the order of lengths", () => {
    const near = fc.tuple(length, fc.nat(1000)).map(([a, b]) => [a, Math.min(MAX, a + b)] as const);
    const any = fc.tuple(length, length).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
    fc.assert(
      fc.property(fc.oneof(near, any), ([shorter, longer]) => {
        expect(padme(shorter)).toBeLessThanOrEqual(padme(longer));
      }),
      { numRuns: 2000 },
    );
  });

  test("returns at most 2^53, where exact integers end", () => {
    const lastStep = 2 ** 53 - 2 ** (52 - 6);
    expect(padme(lastStep)).toBe(lastStep);
    expect(padme(lastStep - 1)).toBe(lastStep);
    expect(padme(lastStep + 1)).toBe(2 ** 53);
    expect(padme(MAX)).toBe(2 ** 53);
  });
});
