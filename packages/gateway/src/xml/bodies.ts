import type { ChecksumAlgorithm } from "../body/algorithms.ts";

/** The most bytes that a body of XML may have: pass it to `planBody`. */
export const XML_MAX_LENGTH: number = 4 * 2 ** 20;

/** A part as CompleteMultipartUpload names it. */
export interface CompletePart {
  /** 1 to 10,000. */
  readonly number: number;
  /** Without quotes. */
  readonly etag: string;
  /** Base64 by algorithm. */
  readonly checksums: Partial<Readonly<Record<ChecksumAlgorithm, string>>>;
}

/** An object as DeleteObjects names it. */
export interface DeleteEntry {
  /** 1 or more bytes of UTF-8; may be longer than a key can be. */
  readonly key: Uint8Array;
  readonly versionId: string | undefined;
  /** Without quotes; a condition. */
  readonly etag: string | undefined;
  /** Bytes; a condition. */
  readonly size: number | undefined;
  /** Milliseconds since 1970; a condition. */
  readonly lastModified: number | undefined;
}

/** The body of CompleteMultipartUpload: 1 to 10,000 parts, in the order sent. @throws S3Error `MalformedXML` */
export function parseCompleteUpload(_body: Uint8Array): readonly CompletePart[] {
  throw new Error("not written yet");
}

/** The body of DeleteObjects: 1 to 1,000 entries. @throws S3Error `MalformedXML` */
export function parseDelete(_body: Uint8Array): {
  readonly isQuiet: boolean;
  readonly entries: readonly DeleteEntry[];
} {
  throw new Error("not written yet");
}

/** The body of CreateBucket, which may be empty: its region. @throws S3Error `MalformedXML` */
export function parseCreateBucket(_body: Uint8Array): string | undefined {
  throw new Error("not written yet");
}

/**
 * The body of PutObjectTagging: at most 10 tags with different keys of 1 to 128 characters and values
 * of up to 256.
 *
 * @throws S3Error `MalformedXML`, `InvalidTag`, `BadRequest` (too many)
 */
export function parseTagging(_body: Uint8Array): readonly (readonly [key: string, value: string])[] {
  throw new Error("not written yet");
}
