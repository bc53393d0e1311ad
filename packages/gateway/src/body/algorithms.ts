import { S3Error } from "../errors.ts";

/** Checksums of S3 by their names in lower case, as in `x-amz-checksum-crc32`. */
export const CHECKSUM_ALGORITHMS = [
  "crc32",
  "crc32c",
  "crc64nvme",
  "md5",
  "sha1",
  "sha256",
  "sha512",
  "xxhash128",
  "xxhash3",
  "xxhash64",
] as const;

/** One of `CHECKSUM_ALGORITHMS`. */
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number];

/** What a client is told that names another one. */
export function unknownAlgorithm(): S3Error {
  const names = CHECKSUM_ALGORITHMS.map((known) => known.toUpperCase()).join(", ");
  return new S3Error(
    "InvalidRequest",
    `Checksum algorithm provided is unsupported. Please try again with any of the valid types: [${names}]`,
  );
}

/** What can be computed of a body. */
export type DigestName = ChecksumAlgorithm;

/** Bytes. */
export const DIGEST_LENGTHS: Readonly<Record<DigestName, number>> = {
  crc32: 4,
  crc32c: 4,
  crc64nvme: 8,
  md5: 16,
  sha1: 20,
  sha256: 32,
  sha512: 64,
  xxhash128: 16,
  xxhash3: 8,
  xxhash64: 8,
};

/** @param text in any case */
export function parseAlgorithm(text: string): ChecksumAlgorithm | undefined {
  return CHECKSUM_ALGORITHMS.find((name) => name === text.toLowerCase());
}

/** @returns undefined if it is not a digest of this kind in base64 as RFC 4648 has it */
export function parseDigest(name: DigestName, text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, "base64");
  // Decoding skips what is not base64.
  if (bytes.length !== DIGEST_LENGTHS[name] || bytes.toString("base64") !== text) return undefined;
  return bytes;
}
