import { describe, expect, test } from "bun:test";
import { CborError, type CborMap, decodeCbor } from "../../src/format/cbor.ts";
import { head, independentCbor, longHead } from "./independent-cbor.ts";

/** Hexadecimal digits and byte strings, joined. */
function cbor(...parts: readonly (string | Uint8Array)[]): Uint8Array {
  return Buffer.concat(
    parts.map((part) => (typeof part === "string" ? Buffer.from(part, "hex") : part)),
  );
}

/** {"a": value} */
const entry = (...value: readonly (string | Uint8Array)[]) => cbor("a16161", ...value);

const GOOD: CborMap = new Map([["a", 1]]);

const CLAIM = 2n ** 62n;
const MILLIONS = 100_000_000n;

const hostile: Record<string, Uint8Array> = {
  "nothing at all": cbor(""),
  "an integer": cbor("00"),
  "an array": cbor("80"),
  "a text": cbor("6161"),
  "a map without its value": cbor("a16161"),
  "a trailing byte": cbor("a1616101", "00"),
  "two maps": cbor("a0", "a0"),

  "a key twice": cbor("a2", "616101", "616102"),
  "a key twice, deeper": entry("a2", "616101", "616101"),
  "keys in the wrong order": cbor("a2", "616201", "616101"),
  "keys in the wrong order, deeper": entry("a2", "616201", "616101"),
  "a longer key first": cbor("a2", "62616101", "616201"),
  "an integer for a key": cbor("a1", "01", "01"),
  "bytes for a key": cbor("a1", "4161", "01"),
  "a map for a key": cbor("a1", "a0", "01"),
  "null for a key": cbor("a1", "f6", "01"),

  "a map of indefinite length": cbor("bf", "616101", "ff"),
  "a text of indefinite length": entry("7f", "6161", "ff"),
  "bytes of indefinite length": entry("5f", "4161", "ff"),
  "an array of indefinite length": entry("9f", "ff"),
  "a break alone": entry("ff"),
  "a break for a key": cbor("a1", "ff", "01"),

  "an array for a value": entry("8101"),
  "an empty array": entry("80"),
  "a map three deep": entry("a16161", "a16161", "00"),
  "an empty map three deep": entry("a16161", "a0"),

  "half float 1.0": entry("f93c00"),
  "half float 0": entry("f90000"),
  "half float -0": entry("f98000"),
  "half float NaN": entry("f97e00"),
  "half float infinity": entry("f97c00"),
  "single float 1.0": entry("fa3f800000"),
  "double float 1.0": entry("fb3ff0000000000000"),
  "double float 1.5": entry("fb3ff8000000000000"),
  "double float -0": entry("fb8000000000000000"),
  "double float 2^32": entry("fb41f0000000000000"),
  false: entry("f4"),
  true: entry("f5"),
  null: entry("f6"),
  undefined: entry("f7"),
  "simple value 0": entry("e0"),
  "simple value 255": entry("f8ff"),
  "a reserved head": entry("1c"),

  "-1": entry("20"),
  "-2^53": entry("3b001fffffffffffff"),
  "-2^64": entry("3bffffffffffffffff"),
  "2^53": entry("1b0020000000000000"),
  "2^53 + 1": entry("1b0020000000000001"),
  "2^64 - 1": entry("1bffffffffffffffff"),

  "UTF-8 of two bytes for one letter": entry("62c1a1"),
  "UTF-8 of three bytes for a slash": entry("63e080af"),
  "UTF-8 of four bytes for a slash": entry("64f08080af"),
  "UTF-8 of a lone surrogate": entry("63eda080"),
  "UTF-8 of a pair of surrogates": entry("66eda080edb080"),
  "truncated UTF-8": entry("62e282"),
  "UTF-8 past the last code point": entry("64f4908080"),
  "UTF-8 that starts with a continuation byte": entry("6180"),
  "a byte that is never UTF-8": entry("61ff"),
  "bad UTF-8 in a key": cbor("a1", "62c1a1", "01"),
  "bad UTF-8 in a long text": entry("7864", Buffer.alloc(99, "a"), "ff"),

  "200,000 nested arrays": entry(Buffer.alloc(200_000, 0x81), "00"),
  "2000 nested arrays": entry(Buffer.alloc(2000, 0x81), "00"),
  "200,000 nested maps": cbor("a16161".repeat(200_000), "00"),
  "2000 nested maps": cbor("a16161".repeat(2000), "00"),
  "200,000 nested tags": entry(Buffer.alloc(200_000, 0xc6), "00"),
};

for (const [name, major] of Object.entries({ integer: 0, bytes: 2, text: 3, map: 5 })) {
  for (const width of [1, 2, 4, 8]) {
    hostile[`a ${name} head of ${width} more bytes than it needs`] =
      name === "map" ? cbor(longHead(major, 0n, width)) : entry(longHead(major, 0n, width));
  }
}
for (const width of [1, 2, 4, 8]) {
  hostile[`a key head of ${width} more bytes than it needs`] = cbor(
    "a1",
    longHead(3, 1n, width),
    "61",
    "00",
  );
  if (width > 1) {
    const largestThatFitsInLess = 2n ** BigInt(4 * width) - 1n;
    hostile[`an integer in ${width} bytes that fits in half`] = entry(
      longHead(0, largestThatFitsInLess, width),
    );
  }
}
for (const [name, major] of Object.entries({ bytes: 2, text: 3, array: 4, map: 5 })) {
  hostile[`${name} that claim a length of 2^62`] = entry(longHead(major, CLAIM, 8));
  hostile[`${name} that claim a length of 100 million`] = entry(longHead(major, MILLIONS, 4));
  hostile[`${name} that claim a length of 100 million, and hold 1000 bytes`] = entry(
    longHead(major, MILLIONS, 4),
    Buffer.alloc(1000),
  );
}
hostile["a map of 2^62 entries"] = cbor(longHead(5, CLAIM, 8));
hostile["a map of 100 million entries"] = cbor(longHead(5, MILLIONS, 4));
hostile["nested arrays that each claim 60,000 items"] = entry(
  "99ea60".repeat(1000),
  Buffer.alloc(60_000),
);

const tagged: Record<string, string> = {
  "0 (date text)": "c074323032302d30312d30315430303a30303a30305a",
  "1 (date number)": "c101",
  "2 (bignum of 1)": "c24101",
  "3 (negative bignum)": "c34101",
  "4 (decimal fraction)": "c4820001",
  "5 (bigfloat)": "c5820001",
  "6 (packed reference)": "c600",
  "14 on 1 (bundled text)": "ce01",
  "24 (embedded CBOR)": "d8184100",
  '27 "RegExp"': "d81b8366526567457870616160",
  '27 "constructor"': "d81b826b636f6e7374727563746f726161",
  '27 "Error"': "d81b82654572726f726161",
  "28 on an integer (shared)": "d81c01",
  "28 on a map (shared)": "d81ca0",
  "28 and 29, a map in itself": "d81ca16161d81d00",
  "29 to nothing": "d81d00",
  "51 (packed table)": "d833848101808000",
  "55799 (self-described)": "d9d9f701",
  "64 (bytes)": "d8404101",
  "65 (uint16 array)": "d841420001",
  "69 (uint16 array)": "d845420001",
  "105 (record)": "d869831a0000e00081616101",
  "57343 (record)": "d9dfff831a0000e00081616101",
  "57342 (record definitions)": "d9dffe821a0000e00081616101",
  "57337 (bundled texts)": "d9dff9821a0000000100",
  "258 (set)": "d901028101",
  "259 (map)": "d90103a0",
  "2^32 - 1": "daffffffff00",
  "2^64 - 1": "dbffffffffffffffff00",
};
for (const [name, item] of Object.entries(tagged)) {
  hostile[`tag ${name}`] = entry(item);
  hostile[`tag ${name} on a key`] = cbor("a1", item, "00");
}
hostile["tag 55799 on the whole"] = cbor("d9d9f7", "a0");
hostile["tag 259 on the whole"] = cbor("d90103", "a0");

/**
 * Small inputs that grow in a reader that supports an extension of CBOR. All but the first fit into a
 * header (65,535 bytes), which is decoded before any key is checked; the first fits into a root.
 */
const growing: Record<string, Uint8Array> = {
  "a bignum of 120,000 bytes": entry("c2", longHead(2, 120_000n, 4), Buffer.alloc(120_000, 0xff)),
  "one map of 300 entries, shared 2000 times": shared(
    independentCbor(new Map(keys(300, 2).map((key) => [key, 0]))),
    2000,
  ),
  "one text of 30,000 bytes, shared 4000 times": shared(independentCbor("a".repeat(30_000)), 4000),
  "a text that 2000 packed prefixes lengthen": entry(
    packedPrefix(longHead(3, 20_000n, 2), Buffer.alloc(20_000, "a")),
    "d8e1".repeat(2000),
    "60",
  ),
  "an array that 100 packed prefixes lengthen": entry(
    packedPrefix(longHead(4, 20_000n, 2), Buffer.alloc(20_000)),
    "d8e1".repeat(100),
    "80",
  ),
};

/** Tag 51 with one prefix, which tag 225 prepends to what follows. */
function packedPrefix(...prefix: readonly Uint8Array[]): Uint8Array {
  return cbor("d833", "84", "81f4", "8200", ...prefix, "80");
}

/** A map in which tag 28 marks a value and tag 29 repeats it under other keys. */
function shared(value: Uint8Array, times: number): Uint8Array {
  const references = keys(times, 3).map((key) => cbor(independentCbor(key), "d81d00"));
  return cbor(head(5, times + 1), "6161", "d81c", value, ...references);
}

/** Keys with the given number of digits, in order. */
function keys(count: number, digits: number): string[] {
  return Array.from({ length: count }, (_, i) => i.toString(36).padStart(digits, "0"));
}

const MiB = 2 ** 20;

for (const [title, inputs] of Object.entries({ hostile, growing })) {
  describe(`${title} input is rejected quickly and without allocating memory`, () => {
    test.each(Object.entries(inputs))("%s", (_name, bytes) => {
      const memory = process.memoryUsage.rss();
      const start = performance.now();
      let outcome: unknown;
      try {
        outcome = decodeCbor(bytes);
      } catch (error) {
        outcome = error;
      }
      const took = performance.now() - start;
      expect(outcome).toBeInstanceOf(CborError);
      expect(took).toBeLessThan(1000);
      expect((process.memoryUsage.rss() - memory) / MiB).toBeLessThan(64);
      // So that no garbage is left for the next case.
      expect(decodeCbor(independentCbor(GOOD))).toEqual(GOOD);
    });
  });
}
