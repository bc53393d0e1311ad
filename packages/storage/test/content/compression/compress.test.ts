import { afterEach, describe, expect, spyOn, test } from "bun:test";
import { codeOf, outcome, random } from "../../support.ts";
import { content, decode, borrowed, pieceSizes, prose } from "./frames.ts";
import { type Compression, encodeContent } from "../../../src/content/compression/compress.ts";
import { type Content, byteReader } from "../../../src/content/byte-reader.ts";
import type { Transform } from "node:stream";
import fc from "fast-check";
import zlib from "node:zlib";

const KIB = 1024;
const MIB = 1024 * KIB;
const CODECS = ["zstd", "lz4"] as const;

interface Encoded {
  readonly bytes: Buffer;
  readonly encoding: { readonly enc: string; readonly len: number } | undefined;
}

/** The bytes that would be stored. */
async function encode(given: Content, compression: Compression): Promise<Encoded> {
  const { reader, encoding } = await encodeContent(byteReader(given), compression, undefined);
  const pieces: Uint8Array[] = [];
  for (let filled = 1; filled > 0;) {
    const room = new Uint8Array(77_777);
    filled = await reader.fill(room);
    pieces.push(room.subarray(0, filled));
  }
  return { bytes: Buffer.concat(pieces), encoding: encoding() };
}

/** The content that a reader decodes from it. */
async function decoded({ bytes, encoding }: Encoded): Promise<Uint8Array> {
  if (encoding === undefined) return bytes;
  const result = await decode(encoding.enc, bytes, encoding.len);
  expect(result.error).toBeUndefined();
  return result.bytes;
}

describe.each(CODECS)("%s", (codec) => {
  const BLOCKS = [64 * KIB, 128 * KIB, 256 * KIB, MIB];
  test.each([0, 1, 12, 13, ...BLOCKS.flatMap((block) => [block - 1, block, block + 1]), 3 * MIB])(
    "%d bytes come back, of text, of noise and of both",
    async (length) => {
      const text = prose(length);
      const noise = random(length);
      const half = length >>> 1;
      const mixed = Buffer.concat([text.subarray(0, half), noise.subarray(half)]);
      for (const bytes of [text, noise, mixed]) {
        const encoded = await encode(bytes, codec);
        expect(encoded.encoding).toEqual({ enc: codec, len: length });
        expect(Buffer.compare(await decoded(encoded), bytes)).toBe(0);
        // Incompressible data is stored in blocks unchanged.
        expect(encoded.bytes.length).toBeLessThan(length + length / 1000 + 32);
      }
    },
  );

  test("round-trips any content, and its output depends only on the bytes", async () => {
    const property = fc.asyncProperty(content, pieceSizes, async (bytes, sizes) => {
      const encoded = await encode(borrowed(bytes, sizes), codec);
      expect(Buffer.compare(await decoded(encoded), bytes)).toBe(0);
      const again = await encode(bytes, codec);
      expect(Buffer.compare(encoded.bytes, again.bytes)).toBe(0);
    });
    await fc.assert(property, { numRuns: 60 });
  });

  test("reads only a few blocks ahead of its consumer, and everything once", async () => {
    const bytes = random(32 * MIB);
    let given = 0;
    async function* counted() {
      for (; given < bytes.length; given += 64 * KIB) yield bytes.subarray(given, given + 64 * KIB);
    }
    const { reader } = await encodeContent(byteReader(counted()), codec, undefined);
    expect(given).toBe(0);
    const room = new Uint8Array(100 * KIB);
    let taken = 0;
    let ahead = 0;
    for (let filled = 1; filled > 0;) {
      filled = await reader.fill(room);
      taken += filled;
      // The codec keeps working while nothing is taken, so give it time to run ahead.
      if (taken % (8 * MIB) < filled) await Bun.sleep(20);
      ahead = Math.max(ahead, given - taken);
    }
    expect(given).toBe(bytes.length);
    expect(ahead).toBeLessThan(4 * MIB);
    expect(reader.position()).toBe(bytes.length);
  });

  test("passes on the error of the content's stream unchanged, wherever it occurs", async () => {
    for (const length of [0, 1000, 5 * MIB]) {
      const broken = new Error("the disk went away");
      let closed = false;
      async function* failing() {
        try {
          yield random(length);
          throw broken;
        } finally {
          closed = true;
        }
      }
      const error = await encode(failing(), codec).catch((thrown: unknown) => thrown);
      expect(error).toBe(broken);
      expect(closed).toBe(true);
    }
  });

  test("ends at once when the signal fires, even if the content's stream hangs", async () => {
    const controller = new AbortController();
    async function* hanging() {
      yield random(3 * MIB);
      await new Promise(() => {});
    }
    const source = byteReader(hanging(), controller.signal);
    const { reader } = await encodeContent(source, codec, controller.signal);
    const reading = outcome(reader.fill(new Uint8Array(8 * MIB)));
    await Bun.sleep(10);
    controller.abort();
    expect(await reading).toBe("aborted");
  });

  test("closes the content's stream when it is cancelled", async () => {
    let closed = 0;
    let given = 0;
    // Far more than is read, but finite, so that a bug does not exhaust the machine's memory.
    async function* long() {
      try {
        for (; given < 64 * MIB; given += 64 * KIB) yield random(64 * KIB);
      } finally {
        closed += 1;
      }
    }
    const { reader } = await encodeContent(byteReader(long()), codec, undefined);
    await reader.fill(new Uint8Array(MIB));
    reader.cancel();
    for (let turns = 0; closed === 0 && turns < 1000; turns++) await Bun.sleep(1);
    expect(closed).toBe(1);
    expect(given).toBeLessThan(8 * MIB);
  });
});

test("zstd closes its codec when it is done, when the content fails, and when it is cancelled", async () => {
  const opened = spyOn(zlib, "createZstdCompress");
  const streams = () => opened.mock.results.map(({ value }) => value as Transform);
  try {
    await encode(prose(3 * MIB), "zstd");
    async function* failing() {
      yield random(2 * MIB);
      throw new Error("the disk went away");
    }
    await encode(failing(), "zstd").catch(() => {});
    const { reader } = await encodeContent(byteReader(random(9 * MIB)), "zstd", undefined);
    await reader.fill(new Uint8Array(MIB));
    reader.cancel();
    for (let turns = 0; !streams()[2]!.destroyed && turns < 1000; turns++) await Bun.sleep(1);
    expect(streams().map(({ destroyed }) => destroyed)).toEqual([true, true, true]);
  } finally {
    opened.mockRestore();
  }
});

test("zstd requires a window of at most 8 MiB, and writes one frame with a checksum", async () => {
  const { bytes } = await encode(prose(9 * MIB), "zstd");
  expect(bytes.readUInt32LE(0)).toBe(0xfd2fb528);
  expect(bytes[4]! & 0b0010_0111).toBe(0b0000_0100);
  expect(10 + (bytes[5]! >>> 3)).toBeLessThanOrEqual(23);
});

describe("auto", () => {
  const auto = (given: Content) => encode(given, "auto");

  test.each([0, 1, 100, 5000, MIB, MIB + 1, 3 * MIB])(
    "leaves %d bytes of noise alone",
    async (n) => {
      const noise = random(n);
      const { bytes, encoding } = await auto(noise);
      expect(encoding).toBeUndefined();
      expect(Buffer.compare(bytes, noise)).toBe(0);
    },
  );

  test.each([1000, MIB, MIB + 1, 3 * MIB])("uses zstd for %d bytes of text", async (length) => {
    const text = prose(length);
    const encoded = await auto(text);
    expect(encoded.encoding).toEqual({ enc: "zstd", len: length });
    expect(encoded.bytes.length).toBeLessThan(length * 0.9);
    expect(Buffer.compare(await decoded(encoded), text)).toBe(0);
  });

  test("counts the metadata that compression adds", async () => {
    // zstd compresses these 40 bytes to 24, and `enc` and `len` take up to 22 more.
    const bytes = Buffer.concat([random(8), Buffer.alloc(32)]);
    const forced = await encode(bytes, "zstd");
    expect(forced.bytes.length).toBeLessThan(36);
    expect((await auto(bytes)).encoding).toBeUndefined();
  });

  test("requires a saving of a tenth", async () => {
    for (const [zeros, kept] of [
      [5_000, undefined],
      [20_000, "zstd"],
    ] as const) {
      const bytes = Buffer.concat([random(100_000 - zeros), Buffer.alloc(zeros)]);
      expect((await auto(bytes)).encoding?.enc).toBe(kept);
    }
  });

  test("samples the start, the middle and the end of the first mebibyte", async () => {
    const W = 64 * KIB;
    const at = [0, (MIB - W) / 2, MIB - W];
    for (const start of at) {
      const bytes = random(2 * MIB);
      bytes.fill(7, start, start + W);
      expect((await auto(bytes)).encoding?.enc).toBe("zstd");
      bytes.set(random(W), start);
      bytes.fill(7, start + W + 100, start + W + 100 + W);
      expect((await auto(bytes)).encoding).toBeUndefined();
    }
  });

  test("decides the same for bytes and for a stream, and loses no data", async () => {
    for (const bytes of [prose(2 * MIB), random(2 * MIB), prose(MIB), random(MIB), random(0)]) {
      const whole = await auto(bytes);
      const pieces = await auto(borrowed(bytes, [999, 70_001]));
      expect(pieces.encoding).toEqual(whole.encoding);
      expect(Buffer.compare(pieces.bytes, whole.bytes)).toBe(0);
      expect(Buffer.compare(await decoded(whole), bytes)).toBe(0);
    }
  });

  test("does not copy content in memory that it does not compress", async () => {
    const bytes = random(2 * MIB);
    const { reader } = await encodeContent(byteReader(bytes), "auto", undefined);
    expect(reader.take(5)?.buffer).toBe(bytes.buffer);
  });
});

describe("if the runtime has no zstd", () => {
  const withoutZstd = () => {
    const real = process.getBuiltinModule.bind(process);
    const answer = (name: string) =>
      name === "node:zlib"
        ? { ...(real(name) as object), createZstdCompress: undefined }
        : real(name);
    return spyOn(process, "getBuiltinModule").mockImplementation(answer);
  };
  let spied: ReturnType<typeof withoutZstd> | undefined;
  afterEach(() => {
    spied?.mockRestore();
    spied = undefined;
  });

  test("zstd is a usage error with advice, before anything is read", async () => {
    spied = withoutZstd();
    let read = false;
    async function* source() {
      read = true;
      yield random(10);
    }
    const error = await encode(source(), "zstd").catch((thrown: unknown) => thrown);
    expect(codeOf(error)).toBe("usage");
    expect(String(error)).toContain('Node.js 22.15 or later, or choose the compression "lz4"');
    expect(read).toBe(false);
  });

  test("auto uses lz4, by the same rule", async () => {
    spied = withoutZstd();
    const text = prose(2 * MIB);
    const encoded = await encode(text, "auto");
    expect(encoded.encoding).toEqual({ enc: "lz4", len: text.length });
    expect(Buffer.compare(await decoded(encoded), text)).toBe(0);
    expect((await encode(random(2 * MIB), "auto")).encoding).toBeUndefined();
  });
});

test("if the native LZ4 library does not load, lz4 is a usage error and auto does not compress", async () => {
  const program = `
    const { encodeContent } = await import(${JSON.stringify(`${import.meta.dir}/../../../src/content/compression/compress.ts`)});
    const { byteReader } = await import(${JSON.stringify(`${import.meta.dir}/../../../src/content/byte-reader.ts`)});
    const failed = await encodeContent(byteReader("x"), "lz4").catch((error) => error);
    const real = process.getBuiltinModule.bind(process);
    process.getBuiltinModule = (name) => name === "node:zlib" ? undefined : real(name);
    const { encoding } = await encodeContent(byteReader("x".repeat(1e5)), "auto");
    console.log(failed.code, failed.message, encoding());
  `;
  // As in a browser, which does not have it.
  const child = Bun.spawn([process.execPath, "--conditions=browser", "-e", program], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect({ stderr, code: await child.exited }).toEqual({ stderr: "", code: 0 });
  expect(stdout).toMatch(/^usage .*install lz4-napi.* undefined\n$/u);
});
