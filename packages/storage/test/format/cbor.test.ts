import { describe, expect, test } from "bun:test";
import { Encoder } from "cbor-x/encode";
import fc from "fast-check";
import {
  CborError,
  type CborMap,
  type CborValue,
  decodeCbor,
  encodeCbor,
} from "../../src/format/cbor.ts";
import { cborMap } from "./cbor-arbitrary.ts";
import { independentCbor } from "./independent-cbor.ts";

/** A map for comparison: key order is ignored, and byte strings are plain. */
function plain(map: CborMap): unknown {
  const value = (item: CborValue) =>
    item instanceof Map
      ? plain(item)
      : item instanceof Uint8Array
        ? { bytes: Array.from(item) }
        : item;
  return Array.from(map, ([key, item]) => [key, value(item)] as const).toSorted(([a], [b]) =>
    a < b ? -1 : 1,
  );
}

describe("encoding", () => {
  test("agrees byte for byte with an encoder written from the RFC", () => {
    fc.assert(
      fc.property(cborMap, (map) => {
        expect<Buffer>(Buffer.from(encodeCbor(map))).toEqual(independentCbor(map));
      }),
      { numRuns: 500 },
    );
  });

  test("agrees byte for byte with cbor-x, if that writes the profile", () => {
    const coder = new Encoder({
      useRecords: false,
      mapsAsObjects: false,
      tagUint8Array: false,
      variableMapSize: true,
    });
    // cbor-x keeps the order of a map, and writes integers over 32 bits as floats unless BigInt.
    const prepared = (map: CborMap): Map<string, unknown> =>
      new Map(
        [...decodeCbor(encodeCbor(map))].map(([key, value]) => [
          key,
          value instanceof Map
            ? prepared(value)
            : typeof value === "number" && value >= 2 ** 32
              ? BigInt(value)
              : value,
        ]),
      );
    fc.assert(
      fc.property(cborMap, (map) => {
        expect(Buffer.compare(encodeCbor(map), coder.encode(prepared(map)))).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  test("puts shorter keys first, then bytewise, never by UTF-16 order", () => {
    const keys = ["\u{10000}", "\uffff", "z", "aa", "10", "9", "", "k".repeat(24), "k".repeat(256)];
    const map: CborMap = new Map(keys.map((key) => [key, 0]));
    const sorted = [
      "",
      "9",
      "z",
      "10",
      "aa",
      "\uffff",
      "\u{10000}",
      "k".repeat(24),
      "k".repeat(256),
    ];
    expect([...decodeCbor(encodeCbor(map)).keys()]).toEqual(sorted);
  });

  test.each([0, 23, 24, 255, 256, 65_535, 65_536, 2 ** 20, 2 ** 21])(
    "takes text and bytes of %d bytes",
    (length) => {
      const map: CborMap = new Map<string, CborValue>([
        ["t", "x".repeat(length)],
        ["b", new Uint8Array(length).fill(7)],
      ]);
      const encoded = encodeCbor(map);
      expect(Buffer.compare(encoded, independentCbor(map))).toBe(0);
      expect(plain(decodeCbor(encoded))).toEqual(plain(map));
    },
  );

  test("returns bytes of its own, which later calls do not change", () => {
    const first = encodeCbor(new Map([["a", 1]]));
    const before = first.slice();
    encodeCbor(new Map([["b", 2]]));
    expect(first).toEqual(before);
    expect(first.buffer.byteLength).toBe(first.length);
  });
});

describe("decoding", () => {
  test("returns what was encoded", () => {
    fc.assert(
      fc.property(cborMap, (map) => {
        expect(plain(decodeCbor(encodeCbor(map)))).toEqual(plain(map));
      }),
      { numRuns: 500 },
    );
  });

  test("never decodes other bytes to the same map", () => {
    const mutated = fc
      .tuple(cborMap, fc.nat(), fc.integer({ min: 1, max: 255 }))
      .filter(([map]) => map.size > 0);
    fc.assert(
      fc.property(mutated, ([map, place, flip]) => {
        const bytes = encodeCbor(map);
        bytes[place % bytes.length]! ^= flip;
        let decoded: CborMap;
        try {
          decoded = decodeCbor(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(CborError);
          return;
        }
        expect(plain(decoded)).not.toEqual(plain(map));
        expect(encodeCbor(decoded)).toEqual(bytes);
      }),
      { numRuns: 2000 },
    );
  });

  test("accepts random bytes only if they are canonical", () => {
    const nearlyMaps = fc
      .tuple(fc.constantFrom(0xa0, 0xa1, 0xa2, 0xb8, 0xbf), fc.uint8Array({ maxLength: 12 }))
      .map(([first, rest]) => Uint8Array.of(first, ...rest));
    fc.assert(
      fc.property(nearlyMaps, (bytes) => {
        let decoded: CborMap;
        try {
          decoded = decodeCbor(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(CborError);
          return;
        }
        expect(Uint8Array.from(independentCbor(decoded))).toEqual(bytes);
      }),
      { numRuns: 5000 },
    );
  });

  test("decodes a map within a larger buffer, with byte strings as views of it", () => {
    const encoded = encodeCbor(new Map([["b", Uint8Array.of(1, 2, 3)]]));
    const larger = new Uint8Array(encoded.length + 20).fill(0xff);
    larger.set(encoded, 9);
    const bytes = decodeCbor(larger.subarray(9, 9 + encoded.length)).get("b") as Uint8Array;
    expect(Array.from(bytes)).toEqual([1, 2, 3]);
    expect(bytes.buffer).toBe(larger.buffer);
  });

  test.each(["__proto__", "constructor", "prototype", "hasOwnProperty"])(
    "takes %s as a key like any other",
    (key) => {
      const map: CborMap = new Map<string, CborValue>([[key, new Map([[key, "x"]])]]);
      expect(plain(decodeCbor(encodeCbor(map)))).toEqual(plain(map));
      expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
    },
  );

  test.each([0, 60, 62, 63, 64, 70, 300])(
    "keeps a byte order mark before %d letters",
    (letters) => {
      const text = `\ufeff${"a".repeat(letters)}`;
      const map: CborMap = new Map([
        ["value", text],
        [text, "key"],
      ]);
      expect(plain(decodeCbor(encodeCbor(map)))).toEqual(plain(map));
    },
  );
});
