import {
  CHECKSUM_ALGORITHMS,
  type ChecksumAlgorithm,
  parseAlgorithm,
  unknownAlgorithm,
} from "../body/algorithms.ts";
import type { Texts } from "../catalog/records.ts";
import { type Xml, xml } from "../xml/write.ts";

/** How an object's checksum comes from its parts': of its bytes, or of their checksums. */
export type ChecksumType = "COMPOSITE" | "FULL_OBJECT";

/**
 * The algorithm that a request names in `x-amz-checksum-algorithm` or, as the SDKs do for bodies, in
 * `x-amz-sdk-checksum-algorithm`.
 *
 * @throws S3Error `InvalidRequest`
 */
export function requestedAlgorithm(
  headers: ReadonlyMap<string, string>,
): ChecksumAlgorithm | undefined {
  const name =
    headers.get("x-amz-checksum-algorithm") ?? headers.get("x-amz-sdk-checksum-algorithm");
  if (name === undefined) return undefined;
  const algorithm = parseAlgorithm(name);
  if (algorithm !== undefined) return algorithm;
  throw unknownAlgorithm();
}

/** A composite checksum ends in the number of parts. */
export function checksumType(value: string): ChecksumType {
  return value.includes("-") ? "COMPOSITE" : "FULL_OBJECT";
}

const ELEMENTS: Readonly<Record<ChecksumAlgorithm, (value: string) => Xml>> = {
  crc32: (value) => xml`<ChecksumCRC32>${value}</ChecksumCRC32>`,
  crc32c: (value) => xml`<ChecksumCRC32C>${value}</ChecksumCRC32C>`,
  crc64nvme: (value) => xml`<ChecksumCRC64NVME>${value}</ChecksumCRC64NVME>`,
  md5: (value) => xml`<ChecksumMD5>${value}</ChecksumMD5>`,
  sha1: (value) => xml`<ChecksumSHA1>${value}</ChecksumSHA1>`,
  sha256: (value) => xml`<ChecksumSHA256>${value}</ChecksumSHA256>`,
  sha512: (value) => xml`<ChecksumSHA512>${value}</ChecksumSHA512>`,
  xxhash128: (value) => xml`<ChecksumXXHASH128>${value}</ChecksumXXHASH128>`,
  xxhash3: (value) => xml`<ChecksumXXHASH3>${value}</ChecksumXXHASH3>`,
  xxhash64: (value) => xml`<ChecksumXXHASH64>${value}</ChecksumXXHASH64>`,
};

/** Checksums as elements of an answer. */
export function checksumsXml(checksums: Texts): Xml {
  return xml`${CHECKSUM_ALGORITHMS.flatMap((name) => {
    const value = checksums[name];
    return value === undefined ? [] : [ELEMENTS[name](value)];
  })}`;
}

/** The same with the type, if there is a checksum. */
export function checksumsAndTypeXml(checksums: Texts): Xml {
  const [value] = Object.values(checksums);
  return xml`${checksumsXml(checksums)}${
    value === undefined ? undefined : xml`<ChecksumType>${checksumType(value)}</ChecksumType>`
  }`;
}

/** Checksums as headers of an answer. */
export function checksumHeaders(checksums: Texts): Record<string, string> {
  const entries = Object.entries(checksums);
  const headers = Object.fromEntries(
    entries.map(([name, value]) => [`x-amz-checksum-${name}`, value]),
  );
  const [first] = entries;
  return first === undefined ? {} : { ...headers, "x-amz-checksum-type": checksumType(first[1]) };
}
