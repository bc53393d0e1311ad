import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type CborMap, type CborValue, decodeCbor } from "../../src/format/cbor.ts";
import {
  type Metadata,
  type MetadataValue,
  metadataEntries,
  metadataFromCbor,
  metadataToCbor,
} from "../../src/format/metadata.ts";
import { fails } from "./fails.ts";
import { independentCbor } from "./independent-cbor.ts";

const key = fc
  .string({ unit: "binary", minLength: 1, maxLength: 60 })
  .filter((key) => !["enc", "len", "name", "type", "mtime"].includes(key));
const value: fc.Arbitrary<MetadataValue> = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.maxSafeNat(),
  fc.uint8Array({ maxLength: 40 }),
);

test("metadata round-trips", () => {
  fc.assert(
    fc.property(fc.dictionary(key, value, { noNullPrototype: false }), (metadata) => {
      const read = metadataFromCbor(metadataToCbor(metadata))!;
      expect(new Map(Object.entries(read))).toEqual(new Map(Object.entries(metadata)));
      expect(metadataEntries(read)).toEqual(metadataToCbor(metadata));
    }),
    { numRuns: 300 },
  );
});

test("names such as __proto__ are ordinary keys, on an object without a prototype", () => {
  const names = ["__proto__", "constructor", "toString", "hasOwnProperty"];
  const read = metadataFromCbor(new Map(names.map((name) => [name, `is ${name}`])))!;
  expect(Object.getPrototypeOf(read)).toBeNull();
  expect(Object.keys(read)).toEqual(names);
  for (const name of names) expect(read[name]).toBe(`is ${name}`);
  expect([...metadataEntries(read).keys()]).toEqual(names);
  expect([...metadataToCbor(read).keys()]).toEqual(names);
});

test("undefined values are omitted", () => {
  const metadata = { name: undefined, type: "text/plain" } as unknown as Metadata;
  expect(metadataToCbor(metadata)).toEqual(new Map([["type", "text/plain"]]));
});

test("byte strings are copied both when encoding and when decoding", () => {
  const bytes = Uint8Array.of(1, 2, 3);
  const map = metadataToCbor({ bytes });
  const read = metadataFromCbor(map)!;
  bytes.fill(9);
  expect(map.get("bytes")).toEqual(Uint8Array.of(1, 2, 3));
  (map.get("bytes") as Uint8Array).fill(8);
  expect(read["bytes"]).toEqual(Uint8Array.of(1, 2, 3));
});

/** Metadata whose encoding has exactly this many bytes. */
function ofLength(length: number): Map<string, string> {
  const shell = independentCbor(new Map([["t", "x".repeat(60_000)]])).length - 60_000;
  return new Map([["t", "x".repeat(length - shell)]]);
}

describe("the limits", () => {
  test("at most 65,536 bytes encoded", () => {
    expect(independentCbor(ofLength(65_536))).toHaveLength(65_536);
    const [most, tooMuch] = [ofLength(65_536), ofLength(65_537)];
    expect(metadataToCbor(Object.fromEntries(most))).toEqual(most);
    expect(metadataFromCbor(most)).toBeDefined();
    fails(() => metadataToCbor(Object.fromEntries(tooMuch)), "usage", "65537 bytes");
    // Readers detect this while decoding, before a map of very many entries is built.
    expect(decodeCbor(independentCbor(new Map([["m", most]]))).get("m")).toEqual(most);
    expect(() => decodeCbor(independentCbor(new Map([["m", tooMuch]])))).toThrow("too long");
  });

  test.each([
    ["255 letters", "k".repeat(255), true],
    ["256 letters", "k".repeat(256), false],
    ["127 letters of two bytes", "ä".repeat(127), true],
    ["128 letters of two bytes", "ä".repeat(128), false],
    ["one letter", "k", true],
    ["no letter", "", false],
  ])("a key of %s: %p is %p", (_name, key, allowed) => {
    const map: CborMap = new Map([[key, 0]]);
    expect(metadataFromCbor(map) !== undefined).toBe(allowed);
    if (allowed) expect(metadataToCbor({ [key]: 0 })).toEqual(map);
    else fails(() => metadataToCbor({ [key]: 0 }), "usage", "key");
  });

  test("a nested map is not metadata", () => {
    expect(metadataFromCbor(new Map<string, CborValue>([["a", new Map()]]))).toBeUndefined();
  });
});

describe("usage is the code of", () => {
  test.each<[string, Record<string, unknown>]>([
    ["a float", { a: 1.5 }],
    ["a negative number", { a: -1 }],
    ["2^53", { a: 2 ** 53 }],
    ["not a number", { a: Number.NaN }],
    ["a bigint", { a: 1n }],
    ["a boolean", { a: true }],
    ["null", { a: null }],
    ["a date", { a: new Date(0) }],
    ["an array", { a: [1] }],
    ["an object", { a: {} }],
    ["other typed arrays", { a: new Uint16Array(1) }],
    ["a lone surrogate", { a: "\ud800" }],
    ["a lone surrogate in a key", { "a\udc00": 1 }],
    ["a name that is not text", { name: 1 }],
    ["a type that is not text", { type: new Uint8Array(1) }],
    ["an mtime that is not a number", { mtime: "today" }],
    ["enc, which writers set", { enc: "lz4" }],
    ["len, which writers set", { len: 1 }],
  ])("%s", (_name, metadata) => {
    fails(() => metadataToCbor(metadata as Metadata), "usage", "metadata");
  });

  test("a wrong value, which the message does not reveal", () => {
    const metadata = { token: { secret: "hunter2" } } as unknown as Metadata;
    expect(fails(() => metadataToCbor(metadata), "usage").message).not.toContain("hunter2");
  });
});
