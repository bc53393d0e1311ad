import {
  decodeLz4Block,
  decodeZstdFrame,
  encodeZstdFrame,
  loadLz4BlockEncoder,
} from "../../src/blobs/index.ts";
import { describe, expect, test } from "bun:test";
import { fails } from "../format/fails.ts";
import fc from "fast-check";
import { fromHex } from "../../src/bytes.ts";
import { zstdCompressSync } from "node:zlib";

const encodeLz4 = await loadLz4BlockEncoder();

/** Random, repetitive and mixed contents. */
const contents = fc
  .array(
    fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.integer({ min: 1, max: 40 })),
    {
      minLength: 1,
      maxLength: 20,
    },
  )
  .map((parts) =>
    Uint8Array.from(
      Buffer.concat(parts.flatMap(([part, times]) => Array<Uint8Array>(times).fill(part))),
    ),
  );

const text = Buffer.from("one piece of a file, again and again. ".repeat(1000));

describe("LZ4 blocks", () => {
  test("decode to what was encoded, into exactly its length", () => {
    fc.assert(
      fc.property(contents, (content) => {
        const block = encodeLz4(content);
        const into = new Uint8Array(content.length);
        decodeLz4Block(block, into);
        expect(Buffer.compare(into, content)).toBe(0);
      }),
    );
    expect(encodeLz4(text).length).toBeLessThan(text.length / 20);
  });

  test("of another length, cut short or with more bytes are errors", () => {
    const block = encodeLz4(text);
    const memory = new Uint8Array(text.length + 2).fill(0xa5);
    fails(() => decodeLz4Block(block, memory.subarray(0, text.length - 1)), "encoding", "more");
    expect([...memory.subarray(text.length - 1)]).toEqual([0xa5, 0xa5, 0xa5]);
    fails(() => decodeLz4Block(block, memory.subarray(0, text.length + 1)), "encoding");
    fails(() => decodeLz4Block(block.subarray(0, -1), new Uint8Array(text.length)), "encoding");
    const longer = Buffer.concat([block, Buffer.alloc(1)]);
    fails(() => decodeLz4Block(longer, new Uint8Array(text.length)), "encoding");
    fails(() => decodeLz4Block(new Uint8Array(0), new Uint8Array(1)), "encoding");
  });

  test("never write more, or crash, whatever they hold", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 60 }),
        fc.integer({ min: 1, max: 300 }),
        (block, room) => {
          const memory = new Uint8Array(room + 8).fill(0xa5);
          try {
            decodeLz4Block(block, memory.subarray(0, room));
          } catch (error) {
            expect(error).toMatchObject({ name: "StorageError", code: "encoding" });
          }
          expect([...memory.subarray(room)]).toEqual(Array(8).fill(0xa5));
        },
      ),
      { numRuns: 2000 },
    );
  });
});

const zstd = test.skipIf(zstdCompressSync === undefined);

describe("zstd frames", () => {
  const limits = { maxLength: text.length };
  const frame = encodeZstdFrame(text);

  zstd("decode to what was encoded", () => {
    fc.assert(
      fc.property(contents, fc.constantFrom(undefined, 1, 19), (content, level) => {
        const encoded = encodeZstdFrame(content, level);
        const decoded = decodeZstdFrame(encoded, { maxLength: content.length });
        expect(Buffer.compare(decoded, content)).toBe(0);
      }),
    );
    expect(frame.length).toBeLessThan(text.length / 20);
    expect(decodeZstdFrame(encodeZstdFrame(new Uint8Array(0)), { maxLength: 0 })).toHaveLength(0);
  });

  zstd("may decode to less than the limit, and not to more", () => {
    expect(decodeZstdFrame(frame, { maxLength: 2 ** 22 })).toHaveLength(text.length);
    fails(() => decodeZstdFrame(frame, { maxLength: text.length - 1 }), "encoding", "states more");
  });

  /** Without a checksum, a stated length or a single segment: a window of 2^10, and one block. */
  const unsized = (block: string) => fromHex(`28b52ffd0000${block}`);
  /** A block that repeats a byte 131,072 times. */
  const repeated = (last: boolean) => {
    const bits = (131_072 << 3) | (1 << 1) | (last ? 1 : 0);
    const head = [bits & 255, (bits >> 8) & 255, bits >> 16];
    return Buffer.from([...head, 0x61]).toString("hex");
  };

  zstd("that do not state their length are limited while they grow", () => {
    const memory = process.memoryUsage.rss();
    // 8 GiB.
    const bomb = fromHex(`28b52ffd0058${repeated(false).repeat(65_535)}${repeated(true)}`);
    fails(() => decodeZstdFrame(bomb, { maxLength: 2 ** 22 }), "encoding", "more than 4194304");
    expect((process.memoryUsage.rss() - memory) / 2 ** 20).toBeLessThan(64);
    const small = fromHex(`28b52ffd0058${repeated(true)}`);
    expect(decodeZstdFrame(small, { maxLength: 131_072 })).toEqual(
      new Uint8Array(131_072).fill(0x61),
    );
    fails(() => decodeZstdFrame(small, { maxLength: 131_071 }), "encoding", "more than 131071");
    expect(decodeZstdFrame(unsized("010000"), { maxLength: 5 })).toHaveLength(0);
  });

  zstd("with a larger window are not decoded", () => {
    // Windows of 2^23, 2^23 and an eighth, and 2^24.
    expect(decodeZstdFrame(fromHex("28b52ffd0068010000"), limits)).toHaveLength(0);
    for (const descriptor of ["69", "70"]) {
      const wide = fromHex(`28b52ffd00${descriptor}010000`);
      fails(() => decodeZstdFrame(wide, limits), "encoding", "window of more than 2^23");
      expect(decodeZstdFrame(wide, { ...limits, maxWindowLog: 24 })).toHaveLength(0);
    }
  });

  zstd("that are cut short, or followed by anything, are errors", () => {
    for (let length = 0; length < frame.length; length++) {
      fails(() => decodeZstdFrame(frame.subarray(0, length), limits), "encoding");
    }
    for (const rest of [Buffer.alloc(1), frame, fromHex("502a4d1800000000")]) {
      const longer = Buffer.concat([frame, rest]);
      fails(() => decodeZstdFrame(longer, limits), "encoding", "bytes follow");
    }
    // Its last block announces five bytes and has three; the header does not state a length.
    fails(() => decodeZstdFrame(fromHex("28b52ffd0058290000616161"), limits), "encoding", "trunc");
    const whole = decodeZstdFrame(fromHex("28b52ffd00582900006161616161"), limits);
    expect(whole).toEqual(new Uint8Array(5).fill(0x61));
    const checked = fromHex("28b52ffd2405290000616161616100000000");
    fails(() => decodeZstdFrame(checked, limits), "encoding");
  });

  zstd("of other formats, with a dictionary or reserved values are errors", () => {
    for (const hex of [
      "00000000",
      "502a4d1800000000",
      "28b52ffd2100010000",
      "28b52ffd2800010000",
    ]) {
      fails(() => decodeZstdFrame(fromHex(hex), limits), "encoding");
    }
  });

  zstd("that are changed are errors, or decode within the limit", () => {
    fc.assert(
      fc.property(fc.nat(frame.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const changed = Uint8Array.from(frame);
        changed[at]! ^= flip;
        try {
          expect(decodeZstdFrame(changed, limits).length).toBeLessThanOrEqual(text.length);
        } catch (error) {
          expect(error).toMatchObject({ name: "StorageError", code: "encoding" });
        }
      }),
    );
  });
});
