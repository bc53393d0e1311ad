/** Checksums of S3 by their names in lower case, as in `x-amz-checksum-crc32`. */
export const CHECKSUM_ALGORITHMS = ["crc32", "crc32c", "crc64nvme", "sha1", "sha256"] as const;

/** One of `CHECKSUM_ALGORITHMS`. */
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number];

/** What can be computed of a body. */
export type DigestName = ChecksumAlgorithm | "md5";

/** Bytes. */
export const DIGEST_LENGTHS: Readonly<Record<DigestName, number>> = {
  md5: 16,
  crc32: 4,
  crc32c: 4,
  crc64nvme: 8,
  sha1: 20,
  sha256: 32,
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
