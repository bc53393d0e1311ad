import type { ChecksumAlgorithm } from "./algorithms.ts";
import type { Payload } from "../signature/payload.ts";
import type { RequestHeaders } from "../signature/request.ts";

/** What an operation expects of a body. */
export interface BodyExpectations {
  /** The most bytes of content. */
  readonly maxLength: number;
  /** A checksum to compute even if the client sends none. */
  readonly algorithm?: ChecksumAlgorithm | undefined;
  /** True if Content-MD5 or a checksum has to be there, as for DeleteObjects. */
  readonly requiresDigest?: boolean;
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
 * @throws S3Error `MissingContentLength`, `EntityTooLarge`, `InvalidDigest`, `InvalidRequest`,
 *   `InvalidArgument`
 */
export function planBody(
  _request: { readonly headers: RequestHeaders; readonly payload: Payload },
  _expectations: BodyExpectations,
): BodyPlan {
  throw new Error("not written yet");
}

/** Content-Encoding as it is to be stored: without `aws-chunked`, undefined if nothing is left. */
export function storedContentEncoding(_value: string | undefined): string | undefined {
  throw new Error("not written yet");
}
