import type { ChecksumAlgorithm } from "../../src/body/algorithms.ts";
import { compositeChecksum, fullObjectChecksum, multipartEtag } from "../../src/body/multipart.ts";
import { expect, test } from "bun:test";
import { createDigester } from "../../src/body/digester.ts";
import { createHash } from "node:crypto";
import { expectCode } from "../support.ts";
import fc from "fast-check";

async function checksum(algorithm: ChecksumAlgorithm, data: Uint8Array): Promise<string> {
  const digester = createDigester([algorithm]);
  await digester.update(data);
  return Buffer.from((await digester.digest()).get(algorithm)!).toString("base64");
}

test.each(["crc32", "crc32c", "crc64nvme"] as const)(
  "%s of an object follows from those of its parts",
  async (algorithm) => {
    const parts = fc.array(fc.uint8Array({ maxLength: 3000 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(parts, async (parts) => {
        const checksums = await Promise.all(
          parts.map(async (part) => ({
            value: await checksum(algorithm, part),
            size: part.length,
          })),
        );
        const whole = await checksum(algorithm, Buffer.concat(parts));
        expect(fullObjectChecksum(algorithm, checksums)).toBe(whole);
      }),
    );
  },
);

test("parts may be as long as S3 has them", () => {
  // Appending 5 GiB of zeros is the same at once and in halves.
  const zero = (algorithm: "crc32" | "crc64nvme", size: number) => {
    const empty = { value: algorithm === "crc32" ? "AAAAAA==" : "AAAAAAAAAAA=", size };
    const one = { value: algorithm === "crc32" ? "NhCmhg==" : "M3eFcAZSQlc=", size: 5 };
    return (parts: number) =>
      fullObjectChecksum(algorithm, [
        one,
        ...Array.from({ length: parts }, () => ({ ...empty, size: size / parts })),
      ]);
  };
  for (const algorithm of ["crc32", "crc64nvme"] as const) {
    const at = zero(algorithm, 5 * 2 ** 30);
    expect(at(1)).toBe(at(2));
    expect(at(1)).toBe(at(1024));
  }
});

test("10,000 parts of different sizes take little time", () => {
  const parts = Array.from({ length: 10_000 }, (_, i) => ({
    value: "M3eFcAZSQlc=",
    size: 2 ** 32 - 1 - i,
  }));
  const start = performance.now();
  fullObjectChecksum("crc64nvme", parts);
  expect(performance.now() - start).toBeLessThan(3000);
});

test.each(["crc32", "crc32c", "sha1", "sha256"] as const)(
  "%s of an object is that of its parts' checksums",
  async (algorithm) => {
    const parts = [Buffer.from("hello"), Buffer.from(" "), Buffer.from("world")];
    const values = await Promise.all(parts.map((part) => checksum(algorithm, part)));
    const joined = Buffer.concat(values.map((value) => Buffer.from(value, "base64")));
    const composite = await compositeChecksum(
      algorithm,
      values.map((value, i) => ({ value, size: parts[i]!.length })),
    );
    expect(composite).toBe(`${await checksum(algorithm, joined)}-3`);
  },
);

test("the ETag of an object is the MD5 of its parts' MD5s", () => {
  const md5s = ["hello", "world"].map((part) => createHash("md5").update(part).digest());
  const etag = createHash("md5").update(Buffer.concat(md5s)).digest("hex");
  expect(multipartEtag(md5s)).toBe(`${etag}-2`);
});

test("values of another algorithm are refused", () => {
  const parts = [{ value: "NhCmhg==", size: 5 }];
  expectCode(() => fullObjectChecksum("crc64nvme", parts), "InvalidRequest");
});
