import type { ChecksumAlgorithm } from "./algorithms.ts";

/** A part's checksum. */
export interface PartChecksum {
  /** Base64. */
  readonly value: string;
  /** Bytes of the part. */
  readonly size: number;
}

/** MD5 of the parts' MD5s, with their number: `…-N`, without quotes. */
export function multipartEtag(_md5s: readonly Uint8Array[]): string {
  throw new Error("not written yet");
}

/** The checksum of the parts' checksums, in base64, with their number: `…-N`. */
export function compositeChecksum(
  _algorithm: Exclude<ChecksumAlgorithm, "crc64nvme">,
  _parts: readonly PartChecksum[],
): string {
  throw new Error("not written yet");
}

/** The checksum of all the parts' bytes, from theirs alone, in base64. */
export function fullObjectChecksum(
  _algorithm: "crc32" | "crc32c" | "crc64nvme",
  _parts: readonly PartChecksum[],
): string {
  throw new Error("not written yet");
}
