import {
  CHECKSUM_ALGORITHMS,
  type ChecksumAlgorithm,
  parseAlgorithm,
  parseDigest,
  unknownAlgorithm,
} from "./algorithms.ts";
import type { Payload } from "../signature/payload.ts";
import type { RequestHeaders } from "../signature/request.ts";
import { S3Error } from "../errors.ts";

/** What an operation expects of a body. */
export interface BodyExpectations {
  /** The most bytes of content. */
  readonly maxLength: number;
  /** A checksum to compute if the client states none. */
  readonly algorithm?: ChecksumAlgorithm | undefined;
  /** The most bytes for which it is computed; by default any. */
  readonly algorithmMaxLength?: number | undefined;
  /** True if Content-MD5 or a checksum has to be there, as for DeleteObjects. */
  readonly requiresDigest?: boolean;
  /** True if checksum headers are about an object, and not this body: as for CompleteMultipartUpload. */
  readonly hasObjectChecksum?: boolean;
  /** True if there may be no body, and no length: as for CreateBucket. */
  readonly isOptional?: boolean;
}

/** What the headers state about a body, checked before the first byte of it is read. */
export interface BodyPlan {
  readonly payload: Payload;
  /** Bytes of content, without the framing of chunks. */
  readonly length: number;
  /** Bytes on the wire; undefined if HTTP's own chunks carry them. */
  readonly wireLength: number | undefined;
  /** From Content-MD5, 16 bytes. */
  readonly md5: Uint8Array | undefined;
  /** The algorithm to compute, if any. */
  readonly algorithm: ChecksumAlgorithm | undefined;
  /** Its value, if a header states it. */
  readonly checksum: Uint8Array | undefined;
  /** True if the value of the algorithm comes in the trailer. */
  readonly isChecksumInTrailer: boolean;
}

/**
 * Reads what the headers state about the body.
 *
 * @throws S3Error `MissingContentLength`, `IncompleteBody`, `EntityTooLarge`, `InvalidDigest`,
 *   `InvalidRequest`
 */
export function planBody(
  { headers, payload }: { readonly headers: RequestHeaders; readonly payload: Payload },
  expectations: BodyExpectations,
): BodyPlan {
  const lengths = planLengths(headers, payload, expectations);
  const contentMd5 = headers.get("content-md5");
  const md5 = contentMd5 === undefined ? undefined : parseDigest("md5", contentMd5);
  if (contentMd5 !== undefined && md5 === undefined)
    throw new S3Error("InvalidDigest", undefined, { details: { "Content-MD5": contentMd5 } });
  const stated = expectations.hasObjectChecksum === true ? undefined : statedChecksum(headers);
  const trailing = trailingAlgorithm(headers, payload);
  if (stated !== undefined && trailing !== undefined) throw multipleChecksums();
  checkSdkAlgorithm(headers, stated?.algorithm ?? trailing);
  const algorithm = stated?.algorithm ?? trailing;
  if (expectations.requiresDigest === true && md5 === undefined && algorithm === undefined) {
    throw new S3Error(
      "InvalidRequest",
      "Missing required header for this request: Content-MD5 OR x-amz-checksum-*",
    );
  }
  const { algorithmMaxLength = Number.POSITIVE_INFINITY } = expectations;
  const standard = lengths.length <= algorithmMaxLength ? expectations.algorithm : undefined;
  return {
    payload,
    ...lengths,
    md5,
    algorithm: algorithm ?? standard,
    checksum: stated?.value,
    isChecksumInTrailer: trailing !== undefined,
  };
}

function planLengths(
  headers: RequestHeaders,
  payload: Payload,
  { maxLength, isOptional = false }: BodyExpectations,
): Pick<BodyPlan, "length" | "wireLength"> {
  const isChunked = payload.form === "signed-chunks" || payload.form === "unsigned-chunks";
  const isFramed = headers.has("transfer-encoding");
  const wireLength =
    parseLength(headers.get("content-length")) ?? (isOptional && !isFramed ? 0 : undefined);
  const length = isChunked ? parseLength(headers.get("x-amz-decoded-content-length")) : wireLength;
  if (length === undefined || (wireLength === undefined && !isFramed)) {
    throw new S3Error("MissingContentLength");
  }
  // Known before the client is told to send.
  if (isChunked && wireLength !== undefined && length > wireLength) {
    throw new S3Error("IncompleteBody", "The content cannot be longer than the body.");
  }
  if (length > maxLength) {
    throw new S3Error("EntityTooLarge", undefined, {
      details: { ProposedSize: length, MaxSizeAllowed: maxLength },
    });
  }
  return { length, wireLength };
}

function parseLength(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/u.test(text) ? Number(text) : undefined;
}

const CHECKSUM_HEADERS: ReadonlySet<string> = new Set(
  CHECKSUM_ALGORITHMS.map((name) => `x-amz-checksum-${name}`),
);

/** Headers of this prefix that are about checksums, and are none. */
const NO_CHECKSUM = /^x-amz-checksum-(?:algorithm|mode|type)$/u;

function statedChecksum(
  headers: RequestHeaders,
): { readonly algorithm: ChecksumAlgorithm; readonly value: Uint8Array } | undefined {
  const names = [...headers.keys()].filter(
    (name) => name.startsWith("x-amz-checksum-") && !NO_CHECKSUM.test(name),
  );
  const [name] = names;
  if (name === undefined) return undefined;
  if (names.length > 1) throw multipleChecksums();
  const algorithm = checksumOf(name);
  if (algorithm === undefined) {
    throw invalid("The algorithm type you specified in x-amz-checksum- header is invalid.");
  }
  const value = parseDigest(algorithm, headers.get(name)!);
  if (value === undefined) throw invalid(`Value for ${name} header is invalid.`);
  return { algorithm, value };
}

/** @param name a header's, in lower case */
function checksumOf(name: string): ChecksumAlgorithm | undefined {
  if (!CHECKSUM_HEADERS.has(name)) return undefined;
  return parseAlgorithm(name.slice("x-amz-checksum-".length));
}

function trailingAlgorithm(
  headers: RequestHeaders,
  payload: Payload,
): ChecksumAlgorithm | undefined {
  const names = headers.get("x-amz-trailer");
  if (names === undefined || names === "") return undefined;
  const algorithms = names.split(",").map((name) => checksumOf(name.trim().toLowerCase()));
  const [algorithm] = algorithms;
  const hasTrailer =
    payload.form === "unsigned-chunks" || (payload.form === "signed-chunks" && payload.hasTrailer);
  if (algorithm === undefined || !hasTrailer) {
    throw invalid("The value specified in the x-amz-trailer header is not supported");
  }
  if (algorithms.length > 1) throw multipleChecksums();
  return algorithm;
}

function checkSdkAlgorithm(headers: RequestHeaders, actual: ChecksumAlgorithm | undefined): void {
  const name = headers.get("x-amz-sdk-checksum-algorithm");
  if (name === undefined) return;
  const algorithm = parseAlgorithm(name);
  if (algorithm === undefined) {
    throw unknownAlgorithm();
  }
  if (actual === undefined) {
    throw invalid(
      "x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer headers were found.",
    );
  }
  if (algorithm !== actual) {
    throw invalid("Value for x-amz-sdk-checksum-algorithm header is invalid.");
  }
}

/** What a client is told that states more than one checksum. */
export function multipleChecksums(): S3Error {
  return invalid(
    "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.",
  );
}

function invalid(message: string): S3Error {
  return new S3Error("InvalidRequest", message);
}

/** Content-Encoding as it is to be stored: without `aws-chunked`, undefined if nothing is left. */
export function storedContentEncoding(value: string | undefined): string | undefined {
  const codings = (value ?? "").split(",").map((coding) => coding.trim());
  const kept = codings.filter((coding) => coding !== "" && coding.toLowerCase() !== "aws-chunked");
  return kept.length === 0 ? undefined : kept.join(",");
}
