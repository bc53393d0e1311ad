import { CborError, type CborItem, decodeCborT, encodeCborT } from "../../src/blobs/index.ts";
import { describe, expect, test } from "bun:test";
import { cborItem } from "./cbor-arbitrary.ts";
import { fails } from "./fails.ts";
import fc from "fast-check";
import { head, independentCbor, longHead } from "./independent-cbor.ts";
import { join } from "node:path";
import { readFileSync } from "node:fs";
import { testdata } from "../support.ts";
import { z } from "zod";

const Answers = z.object({
  cborT: z.object({
    valid: z.array(z.string()),
    invalid: z.array(z.object({ why: z.string(), hex: z.string() })),
  }),
});
const { cborT } = Answers.parse(
  JSON.parse(readFileSync(join(testdata, "snapshots/known-answers.json"), "utf8")),
);

const hex = (digits: string): Uint8Array => Buffer.from(digits, "hex");

describe("known answers", () => {
  test.each(cborT.valid)("%s is decoded, and encoded to the same bytes", (digits) => {
    expect(Buffer.from(encodeCborT(decodeCborT(hex(digits)))).toString("hex")).toBe(digits);
  });

  test.each(cborT.invalid)("$why is refused: $hex", (invalid) => {
    expect(() => decodeCborT(hex(invalid.hex))).toThrow(CborError);
  });
});

test.each<[string, number]>([
  ["00", 0],
  ["1b001fffffffffffff", 2 ** 53 - 1],
  ["20", -1],
  ["37", -24],
  ["3818", -25],
  ["3a00010000", -65_537],
  ["3b001ffffffffffffe", 1 - 2 ** 53],
])("%s is %d", (digits, value) => {
  expect(decodeCborT(hex(digits))).toBe(value);
  expect(Buffer.from(encodeCborT(value)).toString("hex")).toBe(digits);
});

describe("encoding and decoding", () => {
  test("agree with an encoder written from the RFC, and return what was encoded", () => {
    fc.assert(
      fc.property(cborItem, (item) => {
        const encoded = encodeCborT(item);
        expect<Buffer>(Buffer.from(encoded)).toEqual(independentCbor(item));
        expect(encodeCborT(decodeCborT(encoded))).toEqual(encoded);
        expect(decodeCborT(encoded)).toEqual(item);
      }),
      { numRuns: 500 },
    );
  });

  test("accept changed and random bytes only if they are canonical", () => {
    const mutated = fc
      .tuple(cborItem, fc.nat(), fc.integer({ min: 1, max: 255 }))
      .map(([item, place, flip]) => {
        const bytes = encodeCborT(item);
        bytes[place % bytes.length]! ^= flip;
        return bytes;
      });
    const random = fc
      .tuple(fc.constantFrom(0x81, 0x82, 0xa1, 0x20, 0x98, 0x38), fc.uint8Array({ maxLength: 12 }))
      .map(([first, rest]) => Uint8Array.of(first, ...rest));
    fc.assert(
      fc.property(fc.oneof(mutated, random), (bytes) => {
        let decoded: CborItem;
        try {
          decoded = decodeCborT(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(CborError);
          return;
        }
        expect(Uint8Array.from(encodeCborT(decoded))).toEqual(Uint8Array.from(bytes));
      }),
      { numRuns: 2000 },
    );
  });

  test("nest arrays and maps six deep, and no deeper", () => {
    const nested = (levels: number, map: boolean): CborItem =>
      levels === 0
        ? 7
        : map
          ? new Map([["a", nested(levels - 1, false)]])
          : [nested(levels - 1, true)];
    for (const map of [true, false]) {
      expect(decodeCborT(encodeCborT(nested(6, map)))).toEqual(nested(6, map));
      fails(() => encodeCborT(nested(7, map)), "usage", "6 levels");
    }
    expect(() => decodeCborT(hex(`${"81".repeat(6)}a0`))).toThrow("too deep");
    expect(() => decodeCborT(hex(`${"a16161".repeat(6)}80`))).toThrow("too deep");
    expect(decodeCborT(hex(`${"81".repeat(5)}80`))).toEqual([[[[[[]]]]]]);
  });

  test("keep long byte strings, inner maps and text between short items", () => {
    const item = [
      1,
      new Uint8Array(5000).fill(7),
      new Map([["k", "x".repeat(70_000)]]),
      new Uint8Array(4096),
      -5,
      Array.from({ length: 3000 }, (_, i) => i),
      null,
    ];
    expect<Buffer>(Buffer.from(encodeCborT(item))).toEqual(independentCbor(item));
    expect(decodeCborT(encodeCborT(item))).toEqual(item);
  });
});

const refused: Record<string, unknown> = {
  "a fraction": 1.5,
  "2^53": 2 ** 53,
  "-2^53": -(2 ** 53),
  "not a number": Number.NaN,
  undefined,
  true: true,
  "a bigint": 1n,
  "an object": {},
  "a lone surrogate": "\ud800",
  "a lone surrogate in a key": new Map([["\udc00", 1]]),
  "a key that is not text": new Map([[1, 1]]),
  "a set": new Set([1]),
  "undefined in an array": [undefined],
};

test.each(Object.entries(refused))("%s is not encoded", (_name, value) => {
  fails(() => encodeCborT(value as CborItem), "usage", "no encoding");
});

const MiB = 2 ** 20;

/** Each claims or holds far more items than a caller wants in memory. */
const hostile: Record<string, Uint8Array> = {
  "8 MiB of empty arrays": Buffer.concat([head(4, 8 * MiB), Buffer.alloc(8 * MiB, 0x80)]),
  "8 MiB of empty maps": Buffer.concat([head(4, 8 * MiB), Buffer.alloc(8 * MiB, 0xa0)]),
  "8 MiB of empty byte strings": Buffer.concat([head(4, 8 * MiB), Buffer.alloc(8 * MiB, 0x40)]),
  "8 MiB of nulls": Buffer.concat([head(4, 8 * MiB), Buffer.alloc(8 * MiB, 0xf6)]),
  "8 MiB of arrays in arrays": Buffer.concat([
    head(4, 2 * MiB),
    Buffer.alloc(8 * MiB, Buffer.from("83808080", "hex")),
  ]),
  "an array of 2^62 items": longHead(4, 2n ** 62n, 8),
  "an array of 100 million items, of which 1000 are there": Buffer.concat([
    longHead(4, 100_000_000n, 4),
    Buffer.alloc(1000),
  ]),
  "200,000 nested arrays": Buffer.alloc(200_000, 0x81),
};

test.each(Object.entries(hostile))("%s are refused within memory", (_name, bytes) => {
  const memory = process.memoryUsage.rss();
  expect(() => decodeCborT(bytes)).toThrow(CborError);
  expect((process.memoryUsage.rss() - memory) / MiB).toBeLessThan(192);
});

test("the number of items is limited, every array, map and what they hold counted", () => {
  const bytes = encodeCborT([1, [2, null], new Map([["a", "b"]])]);
  expect(decodeCborT(bytes, { itemsMax: 7 })).toEqual([1, [2, null], new Map([["a", "b"]])]);
  expect(() => decodeCborT(bytes, { itemsMax: 6 })).toThrow("more than 6 items");
});
