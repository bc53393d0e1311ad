import { CHUNKS, CHUNKS_TRAILER, UNSIGNED_CHUNKS, chunked, plan, read, source } from "./support.ts";
import { describe, expect, test } from "bun:test";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { readBody } from "../../src/body/read-body.ts";
import { rejectionOf } from "../support.ts";
import type { S3ErrorCode } from "../../src/errors.ts";

const base64Crc = (content: Uint8Array): string => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(content));
  return bytes.toString("base64");
};
const trailerOf = (content: Uint8Array): string => `x-amz-checksum-crc32:${base64Crc(content)}`;

const arbitraryBody = fc
  .record({
    form: fc.constantFrom(CHUNKS, CHUNKS_TRAILER, UNSIGNED_CHUNKS),
    sizes: fc.array(fc.integer({ min: 8192, max: 20_000 }), { maxLength: 4 }),
    last: fc.integer({ min: 0, max: 10_000 }),
    seed: fc.integer({ min: 0, max: 255 }),
    hasTrailer: fc.boolean(),
    pieces: fc.array(fc.integer({ min: 1, max: 30_000 }), { minLength: 1, maxLength: 5 }),
  })
  .map(({ form, sizes, last, seed, hasTrailer, pieces }) => {
    const all = last === 0 ? sizes : [...sizes, last];
    const length = all.reduce((sum, size) => sum + size, 0);
    const content = Buffer.from(Array.from({ length }, (_, i) => (i * 7 + seed) & 0xff));
    const trailer = hasTrailer && form !== CHUNKS ? trailerOf(content) : undefined;
    return { content, pieces, body: chunked(form, content, all, trailer) };
  });

describe("a body of chunks", () => {
  test("is decoded however it is split", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryBody, async ({ body: { headers, wire }, content, pieces }) => {
        expect((await read(plan(headers), wire, pieces)).content.equals(content)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test("is decoded byte by byte", async () => {
    const content = Buffer.from("a\r\n0;chunk-signature=b\r\n".repeat(400));
    for (const form of [CHUNKS, CHUNKS_TRAILER, UNSIGNED_CHUNKS]) {
      const trailer = form === CHUNKS ? undefined : trailerOf(content);
      const { headers, wire } = chunked(form, content, [8192, content.length - 8192], trailer);
      expect((await read(plan(headers), wire, [1])).content.equals(content)).toBe(true);
    }
  });

  test("is refused if any byte of it is changed, whatever is signed or has a checksum", async () => {
    const content = Buffer.from("0123456789".repeat(1000));
    for (const form of [CHUNKS, CHUNKS_TRAILER, UNSIGNED_CHUNKS]) {
      const trailer = form === CHUNKS ? undefined : trailerOf(content);
      const { headers, wire } = chunked(form, content, [8192, 1808], trailer);
      const flips = fc.record({
        at: fc.integer({ min: 0, max: wire.length - 1 }),
        bit: fc.integer({ min: 0, max: 7 }),
      });
      const check = async ({ at, bit }: { at: number; bit: number }): Promise<void> => {
        const flipped = Buffer.from(wire);
        flipped[at]! ^= 1 << bit;
        // `A` and `a` are the same digit or name of a header, and the rest is as it was.
        if (bit === 5 && /[a-zA-Z]/u.test(String.fromCharCode(wire[at]!))) return;
        await rejectionOf(read(plan(headers), flipped));
      };
      await fc.assert(fc.asyncProperty(flips, check), { numRuns: 300 });
      // All of the framing, besides what chance chooses.
      const framing = Array.from({ length: 90 }, (_, i) => i);
      for (let at = wire.length - 260; at < wire.length; at++) framing.push(at);
      for (const at of framing) await check({ at, bit: 0 });
    }
  });

  test("is refused wherever it is cut off", async () => {
    const content = Buffer.from("0123456789".repeat(1000));
    for (const form of [CHUNKS, CHUNKS_TRAILER, UNSIGNED_CHUNKS]) {
      const trailer = form === CHUNKS ? undefined : trailerOf(content);
      const { headers, wire } = chunked(form, content, [8192, 1808], trailer);
      const cuts = fc.integer({ min: 0, max: wire.length - 1 });
      await fc.assert(
        fc.asyncProperty(cuts, async (length) => {
          const error = await rejectionOf(read(plan(headers), wire.subarray(0, length)));
          expect(error.code).toBe("IncompleteBody");
        }),
      );
      const more = Buffer.concat([wire, Buffer.from("x")]);
      expect((await rejectionOf(read(plan(headers), more))).code).toBe("IncompleteBody");
    }
  });

  test("has the length on the wire that its header states", async () => {
    const { headers, wire } = chunked(CHUNKS, Buffer.from("hello"), [5]);
    const { "transfer-encoding": _, ...others } = headers;
    const stated = (length: number) => ({ ...others, "content-length": String(length) });
    // The chunks are signed after the request, so that a header that is not signed can be changed.
    const readStated = (length: number) => {
      const { payload, ...rest } = plan(headers);
      return read({ payload, ...rest, wireLength: length }, wire);
    };
    expect(plan(stated(wire.length)).wireLength).toBe(wire.length);
    expect((await readStated(wire.length)).content.toString()).toBe("hello");
    for (const length of [wire.length - 1, wire.length + 1]) {
      expect((await rejectionOf(readStated(length))).code).toBe("IncompleteBody");
    }
  });

  test("cannot repeat, leave out or exchange chunks", async () => {
    const content = Buffer.from(`${"a".repeat(8192)}${"b".repeat(8192)}${"c".repeat(100)}`);
    const { headers, wire } = chunked(CHUNKS, content, [8192, 8192, 100]);
    const size = "2000;chunk-signature=".length + 64 + 2 + 8192 + 2;
    const [first, second, rest] = [
      wire.subarray(0, size),
      wire.subarray(size, 2 * size),
      wire.subarray(2 * size),
    ];
    expect((await read(plan(headers), Buffer.concat([first, second, rest]))).content).toEqual(
      content,
    );
    const refused: readonly (readonly [Uint8Array[], S3ErrorCode])[] = [
      [[second, first, rest], "SignatureDoesNotMatch"],
      [[first, first, rest], "SignatureDoesNotMatch"],
      [[first, rest], "SignatureDoesNotMatch"],
    ];
    for (const [parts, code] of refused) {
      expect((await rejectionOf(read(plan(headers), Buffer.concat(parts)))).code).toBe(code);
    }
  });

  test("cannot take the chunks of another request", async () => {
    const { wire } = chunked(CHUNKS, Buffer.from("hello"), [5]);
    const other = { ...chunked(CHUNKS, Buffer.from("hello"), [5]).headers, "x-amz-meta-a": "1" };
    expect((await rejectionOf(read(plan(other), wire))).code).toBe("SignatureDoesNotMatch");
  });

  test("has no short chunk but the last", async () => {
    const content = Buffer.alloc(20_000, 1);
    for (const form of [CHUNKS, UNSIGNED_CHUNKS]) {
      for (const sizes of [[20_000], [8192, 11_808], [8192, 8192, 3616]]) {
        const { headers, wire } = chunked(form, content, sizes);
        await read(plan(headers), wire);
      }
      for (const sizes of [
        [10, 19_990],
        [8192, 100, 11_708],
        [8191, 11_809],
      ]) {
        const { headers, wire } = chunked(form, content, sizes);
        expect((await rejectionOf(read(plan(headers), wire))).code).toBe("InvalidChunkSizeError");
      }
    }
  });

  test("pulls no more than it needs, and closes the source", async () => {
    const { headers, wire } = chunked(CHUNKS, Buffer.alloc(100_000), [50_000, 50_000]);
    const given = source(wire, [10_000]);
    const { bytes } = readBody(plan(headers), given);
    expect(given.pulled).toBe(0);
    for await (const piece of bytes) {
      expect(given.pulled).toBe(10_000);
      expect(piece.length).toBeLessThanOrEqual(10_000);
      break;
    }
    expect([given.pulled, given.isClosed]).toEqual([10_000, true]);
  });
});

describe("framing that is malformed", () => {
  const unsigned = (wire: string, length: number, trailer?: string) => {
    const { headers } = chunked(UNSIGNED_CHUNKS, Buffer.alloc(length), [], trailer);
    return rejectionOf(read(plan(headers), Buffer.from(wire)));
  };

  test.each([
    "A\nten bytes!\r\n0\r\n\r\n",
    "A\r\nten bytes!0\r\n\r\n",
    "A\r\nXYZ\r\nten bytes!\r\n0\r\n\r\n",
    "B\r\nten bytes!\r\n0\r\n\r\n",
    "A\r\nten bytes!\r\n0\r\n",
    "A\r\nten bytes!\r\n0\r\n\n",
    "A\r\nten bytes!\r\n\r\n",
    "A\r\n",
    "",
    "\r\n",
    "-A\r\nten bytes!\r\n0\r\n\r\n",
    "0xA\r\nten bytes!\r\n0\r\n\r\n",
    " A\r\nten bytes!\r\n0\r\n\r\n",
    "A \r\nten bytes!\r\n0\r\n\r\n",
    "A;chunk-signature=1\r\nten bytes!\r\n0\r\n\r\n",
    "A;a=b\r\nten bytes!\r\n0\r\n\r\n",
    "size\r\nten bytes!\r\n0\r\n\r\n",
    "FFFFFFFFFFFFFFFF\r\nten bytes!\r\n0\r\n\r\n",
    "A\r\nten bytes!\r\n0\r\n\r\n0\r\n\r\n",
    // Lengths other than the one stated.
    "9\r\nten bytes\r\n0\r\n\r\n",
    "0\r\n\r\n",
    `A\r\nten bytes!\r\n${"0".repeat(16)}1\r\nx\r\n0\r\n\r\n`,
  ])("%j is an incomplete body", async (wire) => {
    expect((await unsigned(wire, 10)).code).toBe("IncompleteBody");
  });

  test("zeros before a size are taken", async () => {
    const { headers } = chunked(UNSIGNED_CHUNKS, Buffer.alloc(2), []);
    const wire = Buffer.from("0000000000000002\r\nhi\r\n00\r\n\r\n");
    expect((await read(plan(headers), wire)).content.toString()).toBe("hi");
  });

  test("a line without end takes bounded memory", async () => {
    const { headers } = chunked(UNSIGNED_CHUNKS, Buffer.alloc(10), []);
    const given = source(Buffer.alloc(10_000_000, "0"), [1000]);
    const { bytes } = readBody(plan(headers), given);
    const error = await rejectionOf(bytes[Symbol.asyncIterator]().next());
    expect([error.code, given.pulled]).toEqual(["IncompleteBody", 1000]);
  });
});

describe("a trailer", () => {
  const hello = Buffer.from("hello");
  const right = trailerOf(hello);
  const readTrailer = (announced: string | undefined, trailer: string) => {
    const { headers } = chunked(UNSIGNED_CHUNKS, hello, [5], announced);
    return read(plan(headers), Buffer.from(`5\r\nhello\r\n0\r\n${trailer}\r\n`));
  };

  test("is taken with blanks, and with its name in any case", async () => {
    for (const line of [
      right,
      right.replace(":", ": "),
      right.replace("crc32", "CRC32"),
      `${right} `,
    ]) {
      const { digests } = await readTrailer(right, `${line}\r\n`);
      expect(digests.checksums?.values).toEqual({ crc32: base64Crc(hello) });
    }
  });

  test("may end its header with LF CR LF, as that of minio-go", async () => {
    const { digests } = await readTrailer(right, `${right}\n\r\n`);
    expect(digests).toEqual((await readTrailer(right, `${right}\r\n`)).digests);
    const { headers, wire } = chunked(CHUNKS_TRAILER, hello, [5], right);
    const theirs = wire.toString().replace(`${right}\r\n`, `${right}\n\r\n`);
    expect(theirs).not.toBe(wire.toString());
    expect((await read(plan(headers), Buffer.from(theirs))).digests).toEqual(digests);
  });

  test("may be empty if none is announced", async () => {
    expect((await readTrailer(undefined, "")).digests.checksums).toBeUndefined();
  });

  test.each([
    [right, "", "MalformedTrailerError"],
    [undefined, `${right}\r\n`, "MalformedTrailerError"],
    [right, "x-amz-checksum-crc32c:mnG7TA==\r\n", "MalformedTrailerError"],
    [right, ":NhCmhg==\r\n", "MalformedTrailerError"],
    [right, "x-amz-checksum-crc32\r\n", "MalformedTrailerError"],
    [right, `${right}\r\n${right}\r\n`, "MalformedTrailerError"],
    [right, `${right}\r\nx-amz-meta-a:1\r\n`, "MalformedTrailerError"],
    [right, `${right}\r\n${"x:y\r\n".repeat(1000)}`, "MalformedTrailerError"],
    [right, "x-amz-checksum-crc32:\r\n", "InvalidRequest"],
    [right, "x-amz-checksum-crc32:NhCmhg\r\n", "InvalidRequest"],
    [right, "x-amz-checksum-crc32:NhCmhg==AA\r\n", "InvalidRequest"],
    [right, "x-amz-checksum-crc32:NhCmhw==\r\n", "BadDigest"],
    [right, `${right}\n`, "IncompleteBody"],
    [right, `${right}\n\n`, "IncompleteBody"],
    [right, `${right}\n${right}\r\n`, "IncompleteBody"],
    [right, `x-amz-checksum-crc32:${"A".repeat(300)}\r\n`, "IncompleteBody"],
  ] as const)("announced as %j, %j is refused: %s", async (announced, trailer, code) => {
    expect((await rejectionOf(readTrailer(announced, trailer))).code).toBe(code);
  });

  const readSigned = (change: (wire: string) => string) => {
    const { headers, wire } = chunked(CHUNKS_TRAILER, hello, [5], right);
    return rejectionOf(read(plan(headers), Buffer.from(change(wire.toString()))));
  };

  test.each([
    [
      "of other content",
      (wire: string) => wire.replace("NhCmhg", "NhCmhw"),
      "SignatureDoesNotMatch",
    ],
    [
      "with another signature",
      (wire: string) => wire.replace(/.(?=\r\n\r\n$)/u, "x"),
      "IncompleteBody",
    ],
    [
      "without one",
      (wire: string) => wire.replace(/x-amz-trailer-signature.*\r\n/u, ""),
      "IncompleteBody",
    ],
    [
      "after its signature",
      (wire: string) => wire.replace(/(x-amz-c.*\r\n)(x.*\r\n)/u, "$2$1"),
      "IncompleteBody",
    ],
    [
      "left out",
      (wire: string) => wire.replace(/x-amz-checksum.*\r\n/u, ""),
      "MalformedTrailerError",
    ],
    [
      "left out with its signature",
      (wire: string) => wire.replace(/(?<=0;.*\r\n)x-amz(?:.|\r\n)*$/u, "\r\n"),
      "MalformedTrailerError",
    ],
  ] as const)("signed, %s, is refused", async (_, change, code) => {
    expect((await readSigned(change)).code).toBe(code);
  });

  test("without end takes bounded memory", async () => {
    const { headers } = chunked(UNSIGNED_CHUNKS, hello, [5], right);
    const start = Buffer.from("5\r\nhello\r\n0\r\n");
    const given = source(Buffer.concat([start, Buffer.from("a:b\r\n".repeat(100_000))]), [100]);
    const error = await rejectionOf(Array.fromAsync(readBody(plan(headers), given).bytes));
    expect([error.code, given.pulled]).toEqual(["MalformedTrailerError", 100]);
  });

  test("signed, is refused with the signature of a chunk in place of its own", async () => {
    const error = await readSigned((wire) => {
      const last = /0;chunk-signature=(.{64})/u.exec(wire)![1]!;
      return wire.replace(/(?<=trailer-signature:).{64}/u, last);
    });
    expect(error.code).toBe("SignatureDoesNotMatch");
  });

  test("cannot be where none is allowed", async () => {
    const { headers, wire } = chunked(CHUNKS, hello, [5]);
    const longer = Buffer.from(wire.toString().replace(/\r\n$/u, `${right}\r\n\r\n`));
    expect((await rejectionOf(read(plan(headers), longer))).code).toBe("IncompleteBody");
  });
});
