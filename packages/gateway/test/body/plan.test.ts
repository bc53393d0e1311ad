import { CHUNKS, UNSIGNED_CHUNKS, plan } from "./support.ts";
import { describe, expect, test } from "bun:test";
import { errorOf, expectCode } from "../support.ts";
import { storedContentEncoding } from "../../src/body/plan.ts";

const UNSIGNED = { "x-amz-content-sha256": "UNSIGNED-PAYLOAD", "content-length": "5" };
const chunks = (form: string, length = "5") => ({
  "x-amz-content-sha256": form,
  "x-amz-decoded-content-length": length,
  "content-length": "200",
});

describe("the length of a body", () => {
  test("is that on the wire, or of the content of chunks", () => {
    expect(plan(UNSIGNED)).toMatchObject({ length: 5, wireLength: 5 });
    expect(plan(chunks(CHUNKS))).toMatchObject({ length: 5, wireLength: 200 });
    const { "content-length": _, ...others } = chunks(CHUNKS);
    const framed = { ...others, "transfer-encoding": "chunked" };
    expect(plan(framed)).toMatchObject({ length: 5, wireLength: undefined });
  });

  test.each([
    { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" },
    { "x-amz-content-sha256": "UNSIGNED-PAYLOAD", "transfer-encoding": "chunked" },
    { ...UNSIGNED, "content-length": "-1" },
    { ...UNSIGNED, "content-length": "5, 5" },
    { ...UNSIGNED, "content-length": "0x5" },
    { ...UNSIGNED, "content-length": "9".repeat(16) },
    chunks(CHUNKS, ""),
    chunks(CHUNKS, "five"),
    chunks(UNSIGNED_CHUNKS, "12x"),
    { "x-amz-content-sha256": CHUNKS, "content-length": "5" },
    { "x-amz-content-sha256": CHUNKS, "x-amz-decoded-content-length": "5" },
  ])("has to be stated: %j", (headers) => {
    expectCode(() => plan(headers), "MissingContentLength");
  });

  test("may be missing where there need not be a body", () => {
    const none = { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };
    expect(plan(none, { isOptional: true })).toMatchObject({ length: 0, wireLength: 0 });
    const framed = { ...none, "transfer-encoding": "chunked" };
    expectCode(() => plan(framed, { isOptional: true }), "MissingContentLength");
  });

  test("is not that of more content than there are bytes", () => {
    for (const form of [CHUNKS, UNSIGNED_CHUNKS]) {
      expectCode(() => plan(chunks(form, "201")), "IncompleteBody");
    }
  });

  test("is limited", () => {
    expect(plan(UNSIGNED, { maxLength: 5 }).length).toBe(5);
    for (const headers of [UNSIGNED, chunks(CHUNKS)]) {
      const error = errorOf(() => plan(headers, { maxLength: 4 }));
      expect([error.code, error.details]).toEqual([
        "EntityTooLarge",
        { ProposedSize: 5, MaxSizeAllowed: 4 },
      ]);
    }
  });
});

describe("digests in headers", () => {
  test.each([
    "",
    "x",
    "1B2M2Y8AsgTpgAmY7PhCfg",
    "1B2M2Y8AsgTpgAmY7PhCfg=",
    "NhCmhg==",
    "1B2M2Y8AsgTpgAmY7PhCfh==",
  ])("Content-MD5 %j is refused", (value) => {
    expectCode(() => plan({ ...UNSIGNED, "content-md5": value }), "InvalidDigest");
  });

  test.each([
    { "x-amz-checksum-crc32": "" },
    { "x-amz-checksum-crc32": "NhCmhg" },
    { "x-amz-checksum-sha256": "NhCmhg==" },
    { "x-amz-checksum-md4": "NhCmhg==" },
    { "x-amz-checksum-crc32": "NhCmhg==", "x-amz-checksum-crc32c": "mnG7TA==" },
    { "x-amz-sdk-checksum-algorithm": "CRC32" },
    { "x-amz-sdk-checksum-algorithm": "MD4", "x-amz-checksum-crc32": "NhCmhg==" },
    { "x-amz-sdk-checksum-algorithm": "SHA1", "x-amz-checksum-crc32": "NhCmhg==" },
    { "x-amz-trailer": "x-amz-checksum-crc32" },
  ])("%j is refused", (headers) => {
    expectCode(
      () => plan({ ...UNSIGNED, ...(headers as Record<string, string>) }),
      "InvalidRequest",
    );
  });

  test.each([
    { "x-amz-trailer": "x-amz-meta-a" },
    { "x-amz-trailer": "x-amz-checksum-md4" },
    { "x-amz-trailer": "x-amz-checksum-crc32,x-amz-checksum-sha1" },
    { "x-amz-trailer": "x-amz-checksum-crc32", "x-amz-checksum-crc32": "NhCmhg==" },
    { "x-amz-trailer": "x-amz-checksum-crc32", "x-amz-sdk-checksum-algorithm": "SHA1" },
  ])("%j is refused of chunks", (headers) => {
    const all = { ...chunks(UNSIGNED_CHUNKS), ...(headers as Record<string, string>) };
    expectCode(() => plan(all), "InvalidRequest");
  });

  test("are planned", () => {
    expect(plan(UNSIGNED)).toMatchObject({ algorithm: undefined, md5: undefined });
    expect(plan(UNSIGNED, { algorithm: "sha1" }).algorithm).toBe("sha1");
    for (const [algorithmMaxLength, algorithm] of [
      [5, "sha1"],
      [4, undefined],
    ] as const) {
      const planned = plan(UNSIGNED, { algorithm: "sha1", algorithmMaxLength });
      expect(planned.algorithm).toBe(algorithm);
    }
    const stated = {
      ...UNSIGNED,
      "x-amz-checksum-crc32": "NhCmhg==",
      "x-amz-checksum-type": "FULL_OBJECT",
    };
    expect(plan(stated, { algorithm: "sha1" })).toMatchObject({
      algorithm: "crc32",
      checksum: Buffer.from("NhCmhg==", "base64"),
      isChecksumInTrailer: false,
    });
    const trailer = {
      "x-amz-trailer": "X-Amz-Checksum-CRC32",
      "x-amz-sdk-checksum-algorithm": "crc32",
    };
    expect(plan({ ...chunks(UNSIGNED_CHUNKS), ...trailer })).toMatchObject({
      algorithm: "crc32",
      checksum: undefined,
      isChecksumInTrailer: true,
    });
  });

  test("are required of some operations", () => {
    expectCode(() => plan(UNSIGNED, { requiresDigest: true }), "InvalidRequest");
    plan({ ...UNSIGNED, "content-md5": "1B2M2Y8AsgTpgAmY7PhCfg==" }, { requiresDigest: true });
    plan({ ...UNSIGNED, "x-amz-checksum-crc32": "NhCmhg==" }, { requiresDigest: true });
  });
});

test("Content-Encoding is stored without aws-chunked", () => {
  const stored = [
    undefined,
    "",
    "aws-chunked",
    "AWS-Chunked",
    "aws-chunked,gzip",
    "gzip, aws-chunked, br",
    "aws-chunked-custom",
  ];
  expect(stored.map(storedContentEncoding)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    "gzip",
    "gzip,br",
    "aws-chunked-custom",
  ]);
});
