/** Checksums of S3 by their names in lower case, as in `x-amz-checksum-crc32`. */
export const CHECKSUM_ALGORITHMS = ["crc32", "crc32c", "crc64nvme", "sha1", "sha256"] as const;

/** One of `CHECKSUM_ALGORITHMS`. */
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number];

/** What can be computed of a body. */
export type DigestName = ChecksumAlgorithm | "md5";
