import type { BodyPlan } from "./plan.ts";
import type { DigestThreads } from "./threads.ts";

/** Of a body that has ended and passed every check. */
export interface BodyDigests {
  /** 16 bytes. */
  readonly md5: Uint8Array;
  /** The plan's algorithm and its value in base64. */
  readonly checksums?:
    | { readonly type: "FULL_OBJECT"; readonly values: Readonly<Record<string, string>> }
    | undefined;
}

/** A body that is checked as it is read. */
export interface CheckedBody {
  /**
   * The content, once. Throws S3Error before it reports its end if a length, digest, checksum or
   * signature is wrong. Pieces are views of what the source gave. Reads nothing ahead.
   */
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly length: number;
  /** Once `bytes` has ended. */
  digests(): Promise<BodyDigests>;
}

/** What reading uses. */
export interface ReadBodyOptions {
  /** For digests of large bodies; without them, all is computed by the caller's thread. */
  readonly threads?: DigestThreads | undefined;
}

/**
 * Decodes and checks a body.
 *
 * @param source the bytes on the wire, without the framing of HTTP; a piece must stay as it is until
 *   the next is pulled
 */
export function readBody(
  _plan: BodyPlan,
  _source: AsyncIterable<Uint8Array>,
  _options: ReadBodyOptions = {},
): CheckedBody {
  throw new Error("not written yet");
}
