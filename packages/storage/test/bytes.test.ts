import { allZero, onlyZeros } from "../src/bytes.ts";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";

describe.each([
  ["allZero", allZero],
  ["onlyZeros", onlyZeros],
])("%s", (_name, check) => {
  test("is so for nothing, and for zeros of any number", () => {
    for (const length of [0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1000, 2 ** 22 + 1]) {
      expect(check(new Uint8Array(length))).toBe(true);
    }
  });

  test("is not where any one byte is another, whichever it is", () => {
    const places = fc
      .integer({ min: 1, max: 300 })
      .chain((length) =>
        fc.tuple(fc.constant(length), fc.nat(length - 1), fc.integer({ min: 1, max: 255 })),
      );
    fc.assert(
      fc.property(places, ([length, at, byte]) => {
        expect(check(new Uint8Array(length).with(at, byte))).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });

  test("is not where all bytes are the same other one", () => {
    for (const length of [1, 2, 64]) expect(check(new Uint8Array(length).fill(7))).toBe(false);
  });

  test("looks at a part of memory and not beside it", () => {
    const memory = new Uint8Array(64).fill(9);
    memory.fill(0, 16, 48);
    expect(check(memory.subarray(16, 48))).toBe(true);
    expect(check(memory.subarray(15, 48))).toBe(false);
    expect(check(memory.subarray(16, 49))).toBe(false);
  });
});
