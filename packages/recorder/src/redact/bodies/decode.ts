import zlib from "node:zlib";
import type { Work } from "../contract.ts";

/** A part of a body, decoded. */
export interface DecodedBody {
  readonly bytes: Buffer;
  /** The bytes are only the beginning. */
  readonly isCut: boolean;
}

type Decode = (bytes: Uint8Array, options: DecodeOptions) => Buffer;

interface DecodeOptions {
  readonly maxOutputLength: number;
  readonly finishFlush?: number;
  readonly params?: Readonly<Record<number, number>>;
}

interface Codec {
  readonly decode: Decode;
  /** With it, input may end anywhere. */
  readonly flush: number;
  readonly params?: Readonly<Record<number, number>>;
}

const GZIP: Codec = { decode: zlib.gunzipSync, flush: zlib.constants.Z_SYNC_FLUSH };
const DEFLATE: Codec = { decode: zlib.inflateSync, flush: zlib.constants.Z_SYNC_FLUSH };
/** Some servers send it as `deflate`, against RFC 9110. */
const RAW_DEFLATE: Codec = { decode: zlib.inflateRawSync, flush: zlib.constants.Z_SYNC_FLUSH };
const BROTLI: Codec = {
  decode: zlib.brotliDecompressSync,
  flush: zlib.constants.BROTLI_OPERATION_FLUSH,
};

/** Node 20 has no zstd, so that its functions cannot be imported by name. */
const ZSTD: readonly Codec[] =
  typeof zlib.zstdDecompressSync === "function"
    ? [
        {
          decode: zlib.zstdDecompressSync,
          flush: zlib.constants.ZSTD_e_flush,
          // What RFC 9659 allows: 8 MiB. A frame could ask for more memory.
          params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 },
        },
      ]
    : [];

const CODECS: Readonly<Record<string, readonly Codec[]>> = {
  gzip: [GZIP],
  "x-gzip": [GZIP],
  deflate: [DEFLATE, RAW_DEFLATE],
  br: [BROTLI],
  zstd: ZSTD,
};

/**
 * Undoes a `Content-Encoding`, up to `max` bytes: of content that is longer, such as a bomb, only a
 * beginning is decoded.
 *
 * @param encoding as it was sent
 * @returns undefined if the encoding is unknown, or the bytes do not decode
 */
export function* decodeContent(
  bytes: Buffer,
  isCut: boolean,
  encoding: string | undefined,
  max: number,
): Work<DecodedBody | undefined> {
  const name = (encoding ?? "").trim().toLowerCase();
  if (name === "" || name === "identity") {
    return bytes.length > max ? { bytes: bytes.subarray(0, max), isCut: true } : { bytes, isCut };
  }
  if (!Object.hasOwn(CODECS, name)) return undefined;
  for (const codec of CODECS[name]!) {
    const decoded = yield* decodeWith(codec, bytes, isCut, max);
    if (decoded !== undefined) return decoded;
  }
  return undefined;
}

function* decodeWith(
  { decode, flush, params }: Codec,
  bytes: Buffer,
  isCut: boolean,
  max: number,
): Work<DecodedBody | undefined> {
  const attempt = (length: number, isWhole: boolean): Attempt => {
    try {
      return decode(bytes.subarray(0, length), {
        maxOutputLength: max,
        ...(!isWhole && { finishFlush: flush }),
        ...(params && { params }),
      });
    } catch (error) {
      const isLonger =
        error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
      return isLonger ? "longer" : "malformed";
    }
  };
  const whole = attempt(bytes.length, !isCut);
  if (whole === "malformed") return undefined;
  if (whole !== "longer") return { bytes: whole, isCut };
  // The output of what is too long is lost. Look for a beginning of the input whose output fits, and
  // that gives at least half of what is allowed: a dozen attempts for the densest input.
  let best: Buffer = Buffer.alloc(0);
  let [fits, exceeds] = [0, bytes.length];
  while (exceeds - fits > 1 && 2 * best.length < max) {
    yield;
    const middle = Math.floor((fits + exceeds) / 2);
    const part = attempt(middle, false);
    if (part === "malformed") return undefined;
    if (part === "longer") exceeds = middle;
    else {
      fits = middle;
      best = part;
    }
  }
  return { bytes: best, isCut: true };
}

type Attempt = Buffer | "longer" | "malformed";
