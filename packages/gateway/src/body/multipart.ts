import { type ChecksumAlgorithm, parseDigest } from "./algorithms.ts";
import { type JoinableAlgorithm, createJoiner } from "./crc-combine.ts";
import { S3Error } from "../errors.ts";
import { createDigester } from "./digester.ts";
import { createHash } from "node:crypto";

/** A part's checksum. */
export interface PartChecksum {
  /** Base64. */
  readonly value: string;
  /** Bytes of the part. */
  readonly size: number;
}

/** MD5 of the parts' MD5s, with their number: `…-N`, without quotes. */
export function multipartEtag(md5s: readonly Uint8Array[]): string {
  const hash = createHash("md5");
  for (const md5 of md5s) hash.update(md5);
  return `${hash.digest("hex")}-${md5s.length}`;
}

/**
 * The checksum of the parts' checksums, in base64, with their number: `…-N`.
 *
 * @throws S3Error `InvalidRequest` for a value that is none of the algorithm
 */
export async function compositeChecksum(
  algorithm: Exclude<ChecksumAlgorithm, "crc64nvme">,
  parts: readonly PartChecksum[],
): Promise<string> {
  const digester = createDigester([algorithm]);
  for (const { value } of parts) await digester.update(valueOf(algorithm, value));
  const digest = (await digester.digest()).get(algorithm)!;
  return `${Buffer.from(digest).toString("base64")}-${parts.length}`;
}

/**
 * The checksum of all the parts' bytes, from theirs alone, in base64.
 *
 * @param parts at least one
 * @throws S3Error as above
 */
export function fullObjectChecksum(
  algorithm: JoinableAlgorithm,
  parts: readonly PartChecksum[],
): string {
  const join = createJoiner(algorithm);
  const joined = parts
    .map(({ value, size }) => ({ value: valueOf(algorithm, value), size }))
    .reduce((a, b) => ({ value: join(a.value, b.value, b.size), size: a.size + b.size }));
  return Buffer.from(joined.value).toString("base64");
}

function valueOf(algorithm: ChecksumAlgorithm, value: string): Uint8Array {
  const bytes = parseDigest(algorithm, value);
  if (bytes === undefined) {
    throw new S3Error("InvalidRequest", `Value for x-amz-checksum-${algorithm} is invalid.`);
  }
  return bytes;
}
