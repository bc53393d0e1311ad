import type { AuthenticatedRequest } from "../../src/signature/authentication.ts";
import { type BodyExpectations, type BodyPlan, planBody } from "../../src/body/plan.ts";
import { type BodyDigests, type ReadBodyOptions, readBody } from "../../src/body/read-body.ts";
import {
  AMZ_DATE,
  SCOPE,
  SECRET,
  accept,
  hmac,
  keyOf,
  sha256,
  signed,
} from "../signature/support.ts";

type Headers = Readonly<Record<string, string>>;

/** A request with a body, its headers signed. */
export function request(headers: Headers): AuthenticatedRequest {
  return accept(signed("PUT", "/b/k", "", headers));
}

export function plan(headers: Headers, expectations: Partial<BodyExpectations> = {}): BodyPlan {
  return planBody(request(headers), { maxLength: 2 ** 30, ...expectations });
}

/** Pieces of these lengths in turn. Counts what was pulled, and whether it was given up. */
export function source(
  body: Uint8Array,
  lengths: readonly number[],
): AsyncIterable<Uint8Array> & { pulled: number; isClosed: boolean } {
  const state = {
    pulled: 0,
    isClosed: false,
    async *[Symbol.asyncIterator]() {
      try {
        for (let at = 0, i = 0; at < body.length; i++) {
          const piece = body.subarray(at, at + Math.max(1, lengths[i % lengths.length]!));
          at += piece.length;
          state.pulled += piece.length;
          yield piece;
        }
      } finally {
        state.isClosed = true;
      }
    },
  };
  return state;
}

/** Reads a body to its end. */
export async function read(
  plan: BodyPlan,
  body: Uint8Array,
  lengths: readonly number[] = [65_536],
  options: ReadBodyOptions = {},
): Promise<{ readonly content: Buffer; readonly digests: BodyDigests }> {
  const checked = readBody(plan, source(body, lengths), options);
  const pieces: Buffer[] = [];
  for await (const piece of checked.bytes) pieces.push(Buffer.from(piece));
  return { content: Buffer.concat(pieces), digests: await checked.digests() };
}

export const CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
export const CHUNKS_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
export const UNSIGNED_CHUNKS = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

/** A body of chunks: its headers, and its bytes on the wire. */
export interface ChunkedBody {
  readonly headers: Headers;
  readonly wire: Buffer;
}

/**
 * Frames and signs content, written out from the documentation.
 *
 * @param form the value of `x-amz-content-sha256`
 * @param sizes of the chunks with content
 * @param trailer `name:value`
 */
export function chunked(
  form: string,
  content: Uint8Array,
  sizes: readonly number[],
  trailer?: string,
): ChunkedBody {
  const headers: Record<string, string> = {
    "x-amz-content-sha256": form,
    "x-amz-decoded-content-length": String(content.length),
    "transfer-encoding": "chunked",
  };
  if (trailer !== undefined) headers["x-amz-trailer"] = trailer.split(":")[0]!;
  const isSigned = form !== UNSIGNED_CHUNKS;
  const sign = signer(headers);
  const parts: (Uint8Array | string)[] = [];
  let at = 0;
  for (const size of [...sizes, 0]) {
    const data = content.subarray(at, at + size);
    at += size;
    const signature = isSigned
      ? `;chunk-signature=${sign("PAYLOAD", sha256(""), sha256(data))}`
      : "";
    parts.push(`${size.toString(16)}${signature}\r\n`, data, size === 0 ? "" : "\r\n");
  }
  if (trailer !== undefined) parts.push(`${trailer}\r\n`);
  if (form === CHUNKS_TRAILER) {
    const canonical = trailer === undefined ? "" : `${trailer}\n`;
    parts.push(`x-amz-trailer-signature:${sign("TRAILER", sha256(canonical))}\r\n`);
  }
  parts.push("\r\n");
  return { headers, wire: Buffer.concat(parts.map((part) => Buffer.from(part as string))) };
}

function signer(headers: Headers): (kind: string, ...lines: readonly string[]) => string {
  const authorization = signed("PUT", "/b/k", "", headers).headers.at(-1)![1];
  let previous = authorization.slice(-64);
  return (kind, ...lines) => {
    const text = [`AWS4-HMAC-SHA256-${kind}`, AMZ_DATE, SCOPE, previous, ...lines].join("\n");
    previous = hmac(keyOf(SECRET), text).toString("hex");
    return previous;
  };
}
