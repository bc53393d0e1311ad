import { decode, borrowed, lz4Frame, messageOf, prose } from "./frames.ts";
import { describe, expect, test } from "bun:test";
import type { Metadata } from "../../../src/index.ts";
import { StorageError } from "../../../src/errors.ts";
import { codeOf } from "../../support.ts";
import { contentDecoder } from "../../../src/content/compression/decompress.ts";
import lz4js from "lz4js";
import { setTimeout as sleep } from "node:timers/promises";
import { constants, zstdCompressSync } from "node:zlib";

const KIB = 1024;
const MIB = 1024 * KIB;

const ENCODERS: readonly [string, (bytes: Uint8Array) => Uint8Array][] = [
  ["lz4", (bytes) => lz4js.compress(bytes)],
  ["zstd", zstd],
];

describe("the metadata of compressed content", () => {
  test("selects a decoder and states the decoded length", () => {
    expect(contentDecoder({ enc: "lz4", len: 5 })?.length).toBe(5);
    expect(contentDecoder({ enc: "zstd", len: 2 ** 53 - 1 })?.length).toBe(2 ** 53 - 1);
    expect(contentDecoder({ enc: "lz4", len: 0 })?.length).toBe(0);
  });

  test("selects none without `enc`", () => {
    expect(contentDecoder({})).toBeUndefined();
    expect(contentDecoder({ len: 5, name: "lz4" })).toBeUndefined();
    expect(contentDecoder(Object.create(null) as Metadata)).toBeUndefined();
  });

  test.each<[string, Metadata, string]>([
    ["an unknown name", { enc: "gzip", len: 5 }, '"gzip"; this version supports lz4 and zstd'],
    ["an empty name", { enc: "", len: 5 }, "supports lz4"],
    ["a name in capitals", { enc: "LZ4", len: 5 }, "supports lz4"],
    ["an object's own name", { enc: "constructor", len: 5 }, "supports lz4"],
    ["a prototype's name", { enc: "__proto__", len: 5 }, "supports lz4"],
    ["a name that is not printable", { enc: "\u001B[2J\n", len: 5 }, "not printable"],
    ["a number for a name", { enc: 4, len: 5 }, '"enc" is number'],
    ["bytes for a name", { enc: new Uint8Array(3), len: 5 }, '"enc" is Uint8Array'],
    ["no length", { enc: "lz4" }, '"len", which is missing'],
    ["a text for a length", { enc: "lz4", len: "5" }, '"len", which is string'],
    ["bytes for a length", { enc: "lz4", len: new Uint8Array(1) }, '"len", which is Uint8Array'],
    ["a length below zero", { enc: "lz4", len: -1 }, '"len"'],
    ["a length that is not an integer", { enc: "zstd", len: 0.5 }, '"len"'],
    ["a length that is not exactly representable", { enc: "zstd", len: 2 ** 53 }, '"len"'],
  ])("with %s is rejected", (_, metadata, message) => {
    const error = thrownBy(() => contentDecoder(metadata));
    expect(codeOf(error)).toBe("encoding");
    expect(messageOf(error)).toContain(message);
  });
});

describe.each(ENCODERS)("%s", (enc, encode) => {
  const source = prose(500 * KIB);
  const encoded = encode(source);

  test("decodes an empty frame", async () => {
    const { pieces, error } = await decode(enc, encode(new Uint8Array(0)), 0);
    expect(error).toBeUndefined();
    expect(pieces).toEqual([]);
  });

  test.each([0, 1, 500 * KIB - 1, 500 * KIB + 1, 2 ** 53 - 1])(
    "with a length of %d for 512,000 bytes",
    async (length) => {
      const { bytes, error } = await decode(enc, encoded, length);
      expect(codeOf(error)).toBe("encoding");
      expect(bytes.length).toBeLessThanOrEqual(length);
      expect(Buffer.compare(bytes, source.subarray(0, bytes.length))).toBe(0);
    },
  );

  test("rejects an empty input", async () => {
    const { error } = await decode(enc, borrowed(new Uint8Array(0)), 0);
    expect(codeOf(error)).toBe("encoding");
  });

  test("passes on an error of the pieces, and ends", async () => {
    const missing = new StorageError("not-found", "a leaf is missing");
    const { bytes, error } = await decode(enc, failing(encoded, missing), source.length);
    expect(error).toBe(missing);
    expect(Buffer.compare(bytes, source.subarray(0, bytes.length))).toBe(0);
  });

  test("decodes two contents concurrently", async () => {
    const decoder = contentDecoder({ enc, len: source.length })!;
    const each = [
      decoder.decode(borrowed(encoded, [999])),
      decoder.decode(borrowed(encoded, [77_777])),
    ];
    const results = await Promise.all(each.map((pieces) => Array.fromAsync(pieces)));
    for (const pieces of results) expect(Buffer.compare(Buffer.concat(pieces), source)).toBe(0);
  });

  test("ends the pieces if the loop is left before or after the first one", async () => {
    for (const reads of [0, 1, 3]) {
      const pieces = counted(encoded, 1000);
      const decoded = contentDecoder({ enc, len: source.length })!.decode(pieces);
      for (let i = 0; i < reads; i++) await decoded.next();
      await decoded.return(undefined);
      await sleep(0);
      expect([reads, pieces.open]).toEqual([reads, false]);
      expect(await decoded.next()).toEqual({ done: true, value: undefined });
    }
  });

  test("waits for its consumer", async () => {
    const noise = crypto.getRandomValues(new Uint8Array(64 * KIB));
    const large = encode(
      Buffer.alloc(32 * MIB).map((_, i) => noise[(i * 7 + (i >>> 12)) & 0xffff]!),
    );
    const pieces = counted(large, 16 * KIB);
    const decoded = contentDecoder({ enc, len: 32 * MIB })!.decode(pieces);
    expect(pieces.given).toBe(0);
    await decoded.next();
    await sleep(50);
    // One LZ4 block, or a few zstd blocks.
    expect(pieces.given).toBeLessThanOrEqual(4 * MIB + 16 * KIB);
    const { given } = pieces;
    await sleep(50);
    expect(pieces.given).toBe(given);
    await decoded.return(undefined);
  });
});

describe("a decompression bomb", () => {
  /** 64 KiB of zeros: a literal, 65,530 bytes that repeat it, and five literals at the end. */
  const bytes = Buffer.concat([
    Uint8Array.of(0x1f, 0, 1, 0),
    Buffer.alloc(256, 255),
    Uint8Array.of(65_530 - 4 - 15 - 256 * 255, 0x50, 0, 0, 0, 0, 0),
  ]);
  const zeros = 512 * MIB;
  const bombs: readonly [string, Uint8Array][] = [
    ["lz4", lz4Frame({ blocks: Array(zeros / (64 * KIB)).fill({ bytes }) })],
    ["zstd", zstd(new Uint8Array(zeros))],
  ];

  test.each(bombs)("of %s stops at its length", async (enc, bomb) => {
    const pieces = counted(bomb, 4 * KIB);
    const { memory, bytes, error } = await drained(enc, pieces, 100);
    expect(codeOf(error)).toBe("encoding");
    expect(bytes).toBeLessThanOrEqual(100);
    expect(pieces.given).toBeLessThanOrEqual(256 * KIB);
    expect(pieces.open).toBe(false);
    expect(memory).toBeLessThan(16 * MIB);
  });

  test.each(bombs)(
    "of %s may claim any length, and no memory is made for it",
    async (enc, bomb) => {
      const { memory, bytes, error } = await drained(enc, borrowed(bomb, [64 * KIB]), 2 ** 53 - 1);
      expect(codeOf(error)).toBe("encoding");
      expect(bytes).toBe(zeros);
      expect(memory).toBeLessThan(zeros / 2);
    },
  );
});

/** A frame that does not contain its length, so that its decoded bytes have to be counted. */
function zstd(bytes: Uint8Array): Uint8Array {
  return zstdCompressSync(bytes, { params: { [constants.ZSTD_c_contentSizeFlag]: 0 } });
}

/** Decodes without keeping anything; `memory` is the peak growth of the process in bytes. */
async function drained(
  enc: string,
  pieces: AsyncIterable<Uint8Array>,
  len: number,
): Promise<{ memory: number; bytes: number; error?: unknown }> {
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  let memory = 0;
  let bytes = 0;
  try {
    for await (const piece of contentDecoder({ enc, len })!.decode(pieces)) {
      bytes += piece.length;
      if (bytes % MIB === 0) memory = Math.max(memory, process.memoryUsage.rss() - before);
    }
    return { memory, bytes };
  } catch (error) {
    return { memory: Math.max(memory, process.memoryUsage.rss() - before), bytes, error };
  }
}

/** The bytes in pieces, and how much of them was requested. */
function counted(
  bytes: Uint8Array,
  size: number,
): AsyncIterable<Uint8Array> & { readonly given: number; readonly open: boolean } {
  const state = {
    given: 0,
    open: false,
    async *[Symbol.asyncIterator]() {
      state.open = true;
      try {
        for (; state.given < bytes.length;) {
          yield bytes.subarray(state.given, (state.given += size));
        }
      } finally {
        state.open = false;
      }
    },
  };
  return state;
}

/** Half of the bytes, and then an error. */
async function* failing(bytes: Uint8Array, error: unknown): AsyncGenerator<Uint8Array> {
  yield bytes.subarray(0, bytes.length / 2);
  throw error;
}

function thrownBy(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return error;
  }
}
