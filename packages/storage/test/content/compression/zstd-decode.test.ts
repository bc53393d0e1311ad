import {
  SENTENCE,
  SENTENCE_FRAMES,
  content,
  decode,
  hex,
  borrowed,
  messageOf,
  pieceSizes,
  prose,
} from "./frames.ts";
import { describe, expect, spyOn, test } from "bun:test";
import zlib, { constants, zstdCompressSync } from "node:zlib";
import { codeOf, random } from "../../support.ts";
import { contentDecoder } from "../../../src/content/compression/decompress.ts";
import fc from "fast-check";
import type { Readable } from "node:stream";

const KIB = 1024;

const FRAME = SENTENCE_FRAMES.zstd;

const MAGIC = "28b52ffd";

/** A header with no length, no checksum, and a window of 2^(10 + n / 8). */
const header = (window: number) => `${MAGIC}00${(window << 3).toString(16).padStart(2, "0")}`;

describe("frames by another encoder", () => {
  test("with a length and a checksum", async () => {
    const { bytes, error } = await decode("zstd", FRAME, SENTENCE.length);
    expect(error).toBeUndefined();
    expect(bytes).toEqual(Buffer.from(SENTENCE));
  });

  test.each([
    ["fast", { [constants.ZSTD_c_compressionLevel]: -5 }],
    [
      "thorough, with a checksum",
      { [constants.ZSTD_c_compressionLevel]: 12, [constants.ZSTD_c_checksumFlag]: 1 },
    ],
    ["without a length", { [constants.ZSTD_c_contentSizeFlag]: 0 }],
    [
      "with long matches",
      { [constants.ZSTD_c_windowLog]: 24, [constants.ZSTD_c_enableLongDistanceMatching]: 1 },
    ],
  ])("%s", async (_, params) => {
    const source = Buffer.concat([prose(3000 * KIB), random(700 * KIB), Buffer.alloc(3000 * KIB)]);
    const { bytes, pieces, error } = await decode(
      "zstd",
      borrowed(zstdCompressSync(source, { params }), [50_000, 1, 300_000]),
      source.length,
    );
    expect(error).toBeUndefined();
    expect(Buffer.compare(bytes, source)).toBe(0);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(64 * KIB);
    expect(new Set(pieces.map((piece) => piece.buffer)).size).toBe(pieces.length);
  });

  test("of any content, in pieces of any size", async () => {
    await fc.assert(
      fc.asyncProperty(content, pieceSizes, async (source, sizes) => {
        const encoded = borrowed(zstdCompressSync(source), sizes);
        const { bytes, error } = await decode("zstd", encoded, source.length);
        expect(error).toBeUndefined();
        expect(Buffer.compare(bytes, source)).toBe(0);
      }),
    );
  });

  test("with many tiny blocks", async () => {
    const raw = (byte: number, last: number) => Uint8Array.of((1 << 3) | last, 0, 0, byte);
    const parts = [hex(header(0))];
    for (let i = 0; i < 200_000; i++) parts.push(raw(i, Number(i === 199_999)));
    const { bytes, error } = await decode("zstd", Buffer.concat(parts), 200_000);
    expect(error).toBeUndefined();
    expect(bytes.every((byte, i) => byte === (i & 0xff))).toBe(true);
  });

  test("with each width of length and window in the header", async () => {
    for (const [digits, length] of [
      [`${header(17)}010000`, 0],
      [`${MAGIC}2000010000`, 0],
      [`${MAGIC}60000003080041`, 256],
      [`${MAGIC}a000010000030800 41`, 256],
      [`${MAGIC}e00001000000000000030800 41`, 256],
      [`${MAGIC}80002c010000630900 41`, 300],
    ] as const) {
      const { bytes, error } = await decode("zstd", hex(digits.replaceAll(" ", "")), length);
      expect([digits, error, bytes.length]).toEqual([digits, undefined, length]);
    }
  });
});

test("closes the runtime's decoder at the end, on an error and if the loop is left early", async () => {
  const opened = spyOn(zlib, "createZstdDecompress");
  try {
    await decode("zstd", FRAME, SENTENCE.length);
    await decode("zstd", FRAME.subarray(0, -1), SENTENCE.length);
    const left = contentDecoder({ enc: "zstd", len: SENTENCE.length })!.decode(borrowed(FRAME));
    await left.next();
    await left.return(undefined);
    expect(opened.mock.results.map(({ value }) => (value as Readable).destroyed)).toEqual([
      true,
      true,
      true,
    ]);
  } finally {
    opened.mockRestore();
  }
});

describe("rejects", () => {
  const source = random(100);
  const good = new Uint8Array(zstdCompressSync(source));
  const nothing = zstdCompressSync(new Uint8Array(0));
  const skippable = hex("502a4d180200000001ff");

  test.each<[string, Uint8Array, string]>([
    ["plain text", prose(100), "magic number"],
    ["a format from before the first version", hex("27b52ffd0000010000"), "magic number"],
    ["a skippable frame", skippable, "magic number"],
    ["a skippable frame before the frame", Buffer.concat([skippable, good]), "magic number"],
    ["a skippable frame after it", Buffer.concat([good, skippable]), "continues after"],
    ["a second frame", Buffer.concat([good, good]), "continues after"],
    ["an empty second frame", Buffer.concat([good, nothing]), "continues after"],
    ["a byte after it", Buffer.concat([good, hex("00")]), "continues after"],
    ["text after it", Buffer.concat([good, prose(500)]), "continues after"],
    ["a reserved bit", hex(`${MAGIC}0800010000`), "reserved"],
    ["a dictionary", hex(`${MAGIC}010007010000`), "dictionary"],
    ["another content size", hex(`${MAGIC}2065010000`), "length differs"],
    ["a content size of 2^64 - 1", hex(`${MAGIC}c000ffffffffffffffff010000`), "length differs"],
    ["a window above 128 MiB", hex(`${MAGIC}008901000041`), "a window"],
    ["the largest window", hex(`${MAGIC}00ff090000 41`.replace(" ", "")), "a window"],
    ["a reserved block type", hex(`${header(10)}07000041`), "reserved type"],
    ["a block above 128 KiB", hex(`${header(10)}090010${"41".repeat(99)}`), "longer than"],
    ["a block above the window", hex(`${header(0)}034000 41`.replace(" ", "")), "do not decode"],
    ["a block that does not decode", hex(`${header(10)}2d0000ffffffffff`), "do not decode"],
  ])("%s", async (_, encoded, message) => {
    for (const size of [encoded.length, 1]) {
      const { bytes, error } = await decode("zstd", borrowed(encoded, [size]), 100);
      expect(codeOf(error)).toBe("encoding");
      expect(messageOf(error)).toContain(message);
      expect(source.subarray(0, bytes.length)).toEqual(new Uint8Array(bytes));
    }
  });

  test("a window that follows only from `len`, if the frame is a single segment", async () => {
    const digits = `${MAGIC}a001000008010000`;
    const { error } = await decode("zstd", hex(digits), 2 ** 27 + 1);
    expect(messageOf(error)).toContain("a window");
  });

  test("keeps the decoder's error as the cause", async () => {
    const damaged = FRAME.slice();
    damaged[FRAME.length - 1]! ^= 1;
    const { error } = await decode("zstd", damaged, SENTENCE.length);
    expect(codeOf(error)).toBe("encoding");
    expect((error as Error).cause).toBeInstanceOf(Error);
  });

  test("everything if the runtime has no zstd, before requesting a piece", async () => {
    const modules = spyOn(process, "getBuiltinModule").mockReturnValue(undefined);
    try {
      let asked = false;
      const pieces = async function* () {
        asked = true;
        yield FRAME;
      };
      const { error } = await decode("zstd", pieces(), SENTENCE.length);
      expect(codeOf(error)).toBe("encoding");
      expect(messageOf(error)).toContain("Node.js 22.15 or later");
      expect(asked).toBe(false);
    } finally {
      modules.mockRestore();
    }
  });
});
