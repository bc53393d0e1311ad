import {
  SENTENCE,
  SENTENCE_FRAMES,
  content,
  decode,
  hex,
  borrowed,
  lz4Frame,
  messageOf,
  pieceSizes,
  prose,
  uint32,
} from "./frames.ts";
import { codeOf, random } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import { StorageError } from "../../../src/errors.ts";
import { decodeBlock } from "../../../src/content/compression/lz4-block.ts";
import fc from "fast-check";
import lz4js from "lz4js";

const KIB = 1024;

const FRAME = SENTENCE_FRAMES.lz4;

/** One block by the block encoder of lz4js, which fails on incompressible data. */
function encodeBlock(bytes: Uint8Array): { bytes: Uint8Array; stored?: boolean } {
  const into = new Uint8Array(lz4js.compressBound(bytes.length));
  const length = lz4js.compressBlock(bytes, into, 0, bytes.length, new Uint32Array(2 ** 16));
  return length === 0 ? { bytes, stored: true } : { bytes: into.slice(0, length) };
}

function cut(bytes: Uint8Array, length: number): Uint8Array[] {
  const parts = [];
  for (let from = 0; from < bytes.length; from += length) {
    parts.push(bytes.subarray(from, from + length));
  }
  return parts;
}

describe("frames by another encoder", () => {
  test("with every checksum", async () => {
    const { bytes, error } = await decode("lz4", FRAME, SENTENCE.length);
    expect(error).toBeUndefined();
    expect(bytes).toEqual(Buffer.from(SENTENCE));
  });

  test("with dependent blocks", async () => {
    const source = prose(9 * 1024 * KIB);
    const { bytes, pieces, error } = await decode("lz4", lz4js.compress(source), source.length);
    expect(error).toBeUndefined();
    expect(Buffer.compare(bytes, source)).toBe(0);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBe(64 * KIB);
    expect(new Set(pieces.map((piece) => piece.buffer)).size).toBe(pieces.length);
  });

  test("of any content, in pieces of any size", async () => {
    await fc.assert(
      fc.asyncProperty(content, pieceSizes, async (source, sizes) => {
        const encoded = borrowed(lz4js.compress(source), sizes);
        const { bytes, error } = await decode("lz4", encoded, source.length);
        expect(error).toBeUndefined();
        expect(Buffer.compare(bytes, source)).toBe(0);
      }),
    );
  });
});

describe("blocks", () => {
  const source = prose(300 * KIB);

  test.each([
    [64, 0x40],
    [256, 0x50],
    [1024, 0x60],
    [4096, 0x70],
  ])("of up to %d KiB that are independent, with checksums", async (size, blockMax) => {
    const blocks = cut(source, size * KIB).map(encodeBlock);
    const encoded = lz4Frame({ blocks, blockMax, flags: 0x74, decoded: source });
    const { bytes, error } = await decode("lz4", encoded, source.length);
    expect(error).toBeUndefined();
    expect(Buffer.compare(bytes, source)).toBe(0);
  });

  test("that are stored, empty or of one byte can all reach the 64 KiB before them", async () => {
    const noise = random(64 * KIB);
    // A match with the largest offset, and no literals.
    const far = Uint8Array.of(0x04, 0xff, 0xff, 0x00);
    const blocks = [
      { bytes: noise, stored: true },
      { bytes: Uint8Array.of(), stored: true },
      { bytes: Uint8Array.of(0x00) },
      ...Array.from({ length: 3000 }, (_, i) => ({ bytes: Uint8Array.of(0x10, i) })),
      { bytes: far },
    ];
    const wanted = Buffer.concat([noise, Uint8Array.from({ length: 3000 }, (_, i) => i)]);
    const decoded = Buffer.concat([wanted, wanted.subarray(-0xffff).subarray(0, 8)]);
    const encoded = lz4Frame({ blocks, flags: 0x44, decoded });
    const { bytes, error } = await decode("lz4", encoded, decoded.length);
    expect(error).toBeUndefined();
    expect(Buffer.compare(bytes, decoded)).toBe(0);
  });

  test("that are malformed never touch other memory", () => {
    // Mostly bytes that form tokens, lengths and offsets of sequences that almost fit.
    const telling = fc.constantFrom(0x00, 0x01, 0x02, 0x04, 0x0f, 0x10, 0x1f, 0x40, 0xf0, 0xff);
    const garbage = fc
      .array(fc.oneof({ weight: 9, arbitrary: telling }, fc.nat(255)), { maxLength: 60 })
      .map((bytes) => Uint8Array.from(bytes));
    fc.assert(
      fc.property(garbage, fc.nat(40), fc.nat(300), (bytes, start, room) => {
        const output = new Uint8Array(start + room + 400).fill(0x55);
        try {
          const end = decodeBlock(bytes, output, start, start + room) ?? start;
          expect(end).toBeGreaterThanOrEqual(start);
          expect(end).toBeLessThanOrEqual(start + room);
        } catch (error) {
          expect(error).toBeInstanceOf(StorageError);
          expect(codeOf(error)).toBe("encoding");
        }
        expect(output.subarray(0, start).every((byte) => byte === 0x55)).toBe(true);
        expect(output.subarray(start + room).every((byte) => byte === 0x55)).toBe(true);
      }),
      { numRuns: 5000 },
    );
  });

  test.each([
    ["nothing", "", "does not end in literals"],
    ["a match at the end", "10410100", "does not end in literals"],
    ["a match with offset 0", "10410000", "offset 0"],
    ["a match from before the content", "1041020050", "before its history"],
    ["half an offset", "104101", "within an offset"],
    ["fewer literals than it states", "2041", "within its literals"],
    ["a length that does not end", "f0ff", "within a length"],
    ["a match's length that does not end", "1f410100ff", "within a length"],
  ])("with %s", async (_, digits, message) => {
    const encoded = lz4Frame({ blocks: [{ bytes: hex(digits) }], flags: 0x40 });
    // A block of length 0 is the end mark.
    const { error } = await decode("lz4", digits ? encoded : lz4Frame({ blocks: [] }), 99);
    expect(codeOf(error)).toBe("encoding");
    expect(messageOf(error)).toContain(digits ? message : "fewer than the 99 bytes");
  });

  test("that reach before an independent block", async () => {
    const blocks = [{ bytes: random(10), stored: true }, { bytes: hex("1041020050") }];
    const independent = await decode("lz4", lz4Frame({ blocks }), 99);
    expect(messageOf(independent.error)).toContain("before its history");
    const linked = await decode("lz4", lz4Frame({ blocks, flags: 0x40 }), 99);
    expect(messageOf(linked.error)).toContain("within its literals");
  });
});

describe("rejects", () => {
  const stored = [{ bytes: random(100), stored: true }];
  const tooLong = [{ bytes: random(64 * KIB + 1), stored: true }];
  // One literal, and a match that repeats it for 4 + 15 + 257 * 255 bytes; no literals: 65,555.
  const zeros = [{ bytes: Buffer.concat([hex("1f000100"), Buffer.alloc(257, 0xff), hex("0000")]) }];
  const good = lz4Frame({ blocks: stored });

  test.each<[string, Uint8Array, string]>([
    ["the legacy format", hex("02214c181e000000be6120"), "legacy"],
    ["a skippable frame", hex("502a4d180200000001020304"), "magic number"],
    ["a skippable frame before the frame", Buffer.concat([hex("502a4d1800000000"), good]), "magic"],
    ["version 0", lz4Frame({ blocks: stored, flags: 0x20 }), "version"],
    ["version 2", lz4Frame({ blocks: stored, flags: 0xa0 }), "version"],
    ["a reserved flag", lz4Frame({ blocks: stored, flags: 0x62 }), "reserved"],
    ["a reserved bit", lz4Frame({ blocks: stored, blockMax: 0x41 }), "reserved"],
    ["the other reserved bit", lz4Frame({ blocks: stored, blockMax: 0xc0 }), "reserved"],
    ["a reserved block length", lz4Frame({ blocks: stored, blockMax: 0x30 }), "reserved"],
    [
      "a dictionary",
      lz4Frame({ blocks: stored, flags: 0x61, optional: uint32(7) }),
      "needs a dictionary",
    ],
    [
      "another content size",
      lz4Frame({ blocks: stored, flags: 0x68, optional: hex("6500000000000000") }),
      "length differs",
    ],
    [
      "a content size of 2^64 - 1",
      lz4Frame({ blocks: stored, flags: 0x68, optional: hex("ffffffffffffffff") }),
      "length differs",
    ],
    ["a block that is too long", lz4Frame({ blocks: tooLong }), "longer than the frame's block"],
    ["a second frame", Buffer.concat([good, good]), "continues after"],
    ["an empty second frame", Buffer.concat([good, lz4Frame({ blocks: [] })]), "continues after"],
    [
      "a skippable frame after it",
      Buffer.concat([good, hex("502a4d1800000000")]),
      "continues after",
    ],
    ["a byte after it", Buffer.concat([good, hex("00")]), "continues after"],
  ])("%s", async (_, encoded, message) => {
    for (const size of [encoded.length, 1]) {
      const { bytes, error } = await decode("lz4", borrowed(encoded, [size]), 100);
      expect(codeOf(error)).toBe("encoding");
      expect(messageOf(error)).toContain(message);
      expect(stored[0]!.bytes.subarray(0, bytes.length)).toEqual(new Uint8Array(bytes));
    }
  });

  test("a block that decodes to more than the block maximum, if the content is long enough", async () => {
    const small = await decode("lz4", lz4Frame({ blocks: zeros }), 10 ** 6);
    expect(messageOf(small.error)).toContain("more than the frame's block length");
    const large = await decode("lz4", lz4Frame({ blocks: zeros, blockMax: 0x50 }), 65_555);
    expect(large.error).toBeUndefined();
    expect(large.bytes.length).toBe(65_555);
  });

  test("a stored block longer than the rest of the content", async () => {
    const noise = random(1000);
    const blocks = cut(noise, 600).map((bytes) => ({ bytes, stored: true }));
    const { bytes, error } = await decode("lz4", lz4Frame({ blocks }), 999);
    expect(codeOf(error)).toBe("encoding");
    expect(messageOf(error)).toContain("more than the 999 bytes");
    expect(Buffer.compare(bytes, noise.subarray(0, 600))).toBe(0);
  });
});
