import { allZero, onlyZeros } from "../src/bytes.ts";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";

describe.each([
  ["allZero", allZero],
  ["onlyZeros", onlyZeros],
])("%s", (_name, check) => {
  test("is true for no bytes, and for any number of zeros", () => {
    for (const length of [0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1000, 2 ** 22 + 1]) {
      expect(check(new Uint8Array(length))).toBe(true);
    }
  });

  test("is false if any single byte differs", () => {
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

  test("is false if all bytes have the same other value", () => {
    for (const length of [1, 2, 64]) expect(check(new Uint8Array(length).fill(7))).toBe(false);
  });

  test("checks only the given part of memory", () => {
    const memory = new Uint8Array(64).fill(9);
    memory.fill(0, 16, 48);
    expect(check(memory.subarray(16, 48))).toBe(true);
    expect(check(memory.subarray(15, 48))).toBe(false);
    expect(check(memory.subarray(16, 49))).toBe(false);
  });
});
