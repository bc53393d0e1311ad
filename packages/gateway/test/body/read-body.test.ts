import { CHECKSUM_ALGORITHMS, type ChecksumAlgorithm } from "../../src/body/algorithms.ts";
import { type DigestThreads, createDigestThreads } from "../../src/body/threads.ts";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { plan, read, source } from "./support.ts";
import { type Digester, createDigester } from "../../src/body/digester.ts";
import { createHash } from "node:crypto";
import { readBody } from "../../src/body/read-body.ts";
import { rejectionOf } from "../support.ts";
import { runDigestStep } from "../../src/body/digest-worker.ts";
import { sha256 } from "../signature/support.ts";

const LARGE = Buffer.alloc(3_000_001, "0123456789abcdef!");

const headersOf = (body: Uint8Array, more: Readonly<Record<string, string>> = {}) => ({
  "x-amz-content-sha256": sha256(body),
  "content-length": String(body.length),
  ...more,
});
const md5 = (body: Uint8Array): string => createHash("md5").update(body).digest("hex");
const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("hex");

/** Of "123456789", as in the catalogue of CRCs (reveng), by RFC 6234's functions and by xxHash. */
const CHECK_VALUES: Readonly<Record<ChecksumAlgorithm, string>> = {
  crc32: "cbf43926",
  crc32c: "e3069283",
  crc64nvme: "ae8b14860a799888",
  md5: "25f9e794323b453885f5181f1b624d0b",
  sha1: "f7c3bc1d808e04732adf679965ccc34ca7ae3441",
  sha256: "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225",
  sha512:
    "d9e6762dd1c8eaf6d61b3c6192fc408d4d6d5f1176d0c29169bc24e71c3f274ad27fcd5811b313d681f7e55ec02d73d499c95455b6b5bb503acf574fba8ffe85",
  xxhash128: "33119477ede5dcd5e9716427681d5860",
  xxhash3: "72dcb18b67a17dff",
  xxhash64: "8cb841db40e6ae83",
};
const base64 = (hex: string): string => Buffer.from(hex, "hex").toString("base64");

let threads: DigestThreads;
beforeAll(async () => {
  threads = createDigestThreads(2);
  await threads.start();
});
afterAll(async () => {
  await threads.close();
});

describe("a whole body", () => {
  test.each(CHECKSUM_ALGORITHMS)("is checked against %s", async (algorithm) => {
    const body = Buffer.from("123456789");
    const name = `x-amz-checksum-${algorithm}`;
    const value = base64(CHECK_VALUES[algorithm]);
    const { digests } = await read(plan(headersOf(body, { [name]: value })), body, [2]);
    expect(digests.checksums).toEqual({ type: "FULL_OBJECT", values: { [algorithm]: value } });
    expect(hex(digests.md5)).toBe(md5(body));
    const wrong = base64(
      CHECK_VALUES[algorithm].replace(/.$/u, (digit) => (digit === "0" ? "1" : "0")),
    );
    const error = await rejectionOf(read(plan(headersOf(body, { [name]: wrong })), body));
    expect([error.code, error.message]).toEqual([
      "BadDigest",
      `The ${algorithm.toUpperCase()} you specified did not match the calculated checksum.`,
    ]);
  });

  test.each([
    ["xxhash64", "942c0c2486b5bf41"],
    ["xxhash3", "8e890ebedfad32a2"],
    ["xxhash128", "90ead7ad09f3c2b08e890ebedfad32a2"],
  ] as const)("of several pieces has the %s that xxHash computes", async (algorithm, expected) => {
    const name = `x-amz-checksum-${algorithm}`;
    const value = base64(expected);
    const { digests } = await read(
      plan(headersOf(LARGE, { [name]: value })),
      LARGE,
      [1, 239, 65_536, 999_983],
    );
    expect(digests.checksums?.values).toEqual({ [algorithm]: value });
  });

  test("is checked against its hash", async () => {
    const body = Buffer.from("hello");
    const error = await rejectionOf(read(plan(headersOf(body)), Buffer.from("hellO")));
    expect([error.code, error.details]).toEqual([
      "XAmzContentSHA256Mismatch",
      {
        ClientComputedContentSHA256: sha256(body),
        S3ComputedContentSHA256: sha256("hellO"),
      },
    ]);
    expect((await read(plan(headersOf(Buffer.alloc(0))), Buffer.alloc(0))).content).toHaveLength(0);
  });

  test("is checked against Content-MD5", async () => {
    const body = Buffer.from("hello");
    const headers = (other: Uint8Array) => headersOf(body, { "content-md5": base64(md5(other)) });
    await read(plan(headers(body)), body);
    const error = await rejectionOf(read(plan(headers(Buffer.from("hellO"))), body));
    expect(error.code).toBe("BadDigest");
  });

  test("is checked against its length, and not read beyond", async () => {
    const headers = { "x-amz-content-sha256": "UNSIGNED-PAYLOAD", "content-length": "5" };
    for (const body of ["", "hell", "hello!"]) {
      const error = await rejectionOf(read(plan(headers), Buffer.from(body)));
      expect(error.code).toBe("IncompleteBody");
    }
    const given = source(Buffer.alloc(1000), [10]);
    await rejectionOf(Array.fromAsync(readBody(plan(headers), given).bytes));
    expect([given.pulled, given.isClosed]).toEqual([10, true]);
  });

  test("has no digests before its end", async () => {
    const body = readBody(plan(headersOf(Buffer.from("hello"))), source(Buffer.from("hello"), [5]));
    const error: unknown = await body.digests().catch((error: unknown) => error);
    expect(error).toBeInstanceOf(Error);
  });
});

describe("digests in threads", () => {
  test.each(CHECKSUM_ALGORITHMS)("are those of the caller's thread: %s", async (algorithm) => {
    const planned = plan(headersOf(LARGE), { algorithm });
    const inThread = await read(planned, LARGE, [70_001, 3, 200_000], { threads });
    const inline = await read(planned, LARGE);
    expect(inThread.content.equals(LARGE)).toBe(true);
    expect(hex(inThread.digests.md5)).toBe(md5(LARGE));
    expect(inThread.digests.checksums).toEqual(inline.digests.checksums);
  });

  test("refuse wrong bodies", async () => {
    const wrong = Buffer.from(LARGE);
    wrong[2_000_000]! ^= 1;
    const error = await rejectionOf(read(plan(headersOf(LARGE)), wrong, [65_536], { threads }));
    expect(error.code).toBe("XAmzContentSHA256Mismatch");
  });

  test("keep bodies apart that come at the same time, and some given up", async () => {
    const bodies = Array.from({ length: 20 }, (_, i) => Buffer.from(LARGE).fill(i, 0, 2_000_000));
    await Promise.all(
      bodies.map(async (body, i) => {
        const planned = plan(headersOf(body));
        if (i % 5 === 4) {
          for await (const _ of readBody(planned, source(body, [9999]), { threads }).bytes) break;
          return;
        }
        const { digests } = await read(planned, body, [10_000 + i], { threads });
        expect(hex(digests.md5)).toBe(md5(body));
      }),
    );
  });

  test("are given up with the body", async () => {
    const ended: string[] = [];
    const begin = (): Digester => ({
      ...createDigester(["md5"]),
      abandon: () => ended.push("abandoned"),
    });
    const { bytes } = readBody(plan(headersOf(LARGE)), source(LARGE, [9999]), {
      threads: { ...threads, begin },
    });
    for await (const _ of bytes) break;
    expect(ended).toEqual(["abandoned"]);
  });

  test("copy what they are given", async () => {
    const digester = threads.begin(["md5"]);
    const piece = Buffer.alloc(50_000);
    const all: Buffer[] = [];
    for (let i = 0; i < 20; i++) {
      piece.fill(i);
      all.push(Buffer.from(piece));
      await digester.update(piece);
    }
    const digests = await digester.digest();
    expect(hex(digests.get("md5"))).toBe(md5(Buffer.concat(all)));
  });

  test("are complete whether or not the last buffer is full", async () => {
    const full = 512 * 1024;
    for (const length of [0, 1, full - 1, full, full + 1, 3 * full]) {
      const body = LARGE.subarray(0, length);
      for (const pieceLength of [100_000, full, 2 * full]) {
        const digester = threads.begin(["md5"]);
        for (let at = 0; at < length; at += pieceLength) {
          await digester.update(body.subarray(at, at + pieceLength));
        }
        expect(hex((await digester.digest()).get("md5"))).toBe(md5(body));
      }
    }
  });

  test("are computed by the caller if there are no threads", async () => {
    for (const other of [createDigestThreads(0), createDigestThreads(1)]) {
      const { digests } = await read(plan(headersOf(LARGE)), LARGE, [65_536], { threads: other });
      expect(hex(digests.md5)).toBe(md5(LARGE));
      await other.close();
    }
  });

  test("that a thread has lost are an error", async () => {
    const lost = [
      { type: "update", id: 1, buffer: new Uint8Array(1), length: 1 },
      { type: "digest", id: 1 },
    ] as const;
    for (const step of lost) {
      const error: unknown = await runDigestStep(step).catch((error: unknown) => error);
      expect(error).toMatchObject({ message: "the digests of this body were lost" });
    }
  });

  test("fail if the threads are closed meanwhile", async () => {
    const closing = createDigestThreads(1);
    await closing.start();
    const digester = closing.begin(["md5"]);
    await closing.close();
    expect((await rejectionOf(digester.digest())).code).toBe("InternalError");
  });
});
