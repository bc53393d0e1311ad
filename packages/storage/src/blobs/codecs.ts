import { decodeBlock } from "../content/compression/lz4-block.ts";
import { corrupt, parseWholeFrame } from "../content/compression/zstd-frame.ts";
import { zlibWith } from "../content/compression/zstd.ts";
import { StorageError, usage } from "../errors.ts";

/**
 * Decodes one LZ4 block (not a frame) that decodes to exactly the length of `into`. Nothing beyond
 * it is written, whatever the block claims.
 *
 * @throws StorageError `encoding`
 */
export function decodeLz4Block(block: Uint8Array, into: Uint8Array): void {
  const end = decodeBlock(block, into, 0, into.length);
  if (end === into.length) return;
  const found = end === undefined ? "more" : "fewer";
  throw new StorageError("encoding", `an LZ4 block decodes to ${found} than ${into.length} bytes`);
}

/**
 * Encodes bytes as one zstd frame (RFC 8878), in this thread. The frame states its length and has no
 * checksum, for what is sealed is authenticated anyway.
 *
 * @param level 1 to 22, by default 3. Levels to 19 need windows of at most 2^23 bytes.
 * @throws StorageError `usage` if the runtime has no zstd
 */
export function encodeZstdFrame(bytes: Uint8Array, level: number = 3): Uint8Array {
  const zlib = zlibWith("createZstdCompress");
  if (zlib === undefined) {
    throw usage("this runtime cannot compress with zstd: run Bun or Node.js 22.15 or later");
  }
  const { ZSTD_c_compressionLevel } = zlib.constants;
  return zlib.zstdCompressSync(bytes, { params: { [ZSTD_c_compressionLevel]: level } });
}

/** What a zstd frame may ask of a reader. */
export interface ZstdLimits {
  /** The most bytes it may decode to: an integer. */
  readonly maxLength: number;
  /** The largest window, as a power of two from 10 to 27; by default 23, so 8 MiB. */
  readonly maxWindowLog?: number | undefined;
}

/** Bytes of output allocated at once if the frame does not state its length. */
const PORTION = 2 ** 18;
/** The smallest portion that the runtimes accept. */
const PORTION_MIN = 64;

/**
 * Decodes exactly one zstd frame (RFC 8878) without a dictionary that fills `frame`, in this thread.
 * The output is limited while it grows; a frame that states a greater length is not decoded at all.
 *
 * @returns the content, in memory of its own
 * @throws StorageError `encoding`, also if the runtime has no zstd
 */
export function decodeZstdFrame(
  frame: Uint8Array,
  { maxLength, maxWindowLog = 23 }: ZstdLimits,
): Uint8Array {
  const { size, window } = parseWholeFrame(frame);
  if (size !== undefined && size > maxLength) {
    throw corrupt(`it states more than ${maxLength} bytes`);
  }
  if ((window ?? size ?? 0) > 2 ** maxWindowLog) {
    throw corrupt(`it requires a window of more than 2^${maxWindowLog} bytes`);
  }
  const zlib = zlibWith("createZstdDecompress");
  if (zlib === undefined) {
    throw new StorageError(
      "encoding",
      "this runtime cannot decode zstd: run Bun or Node.js 22.15 or later",
    );
  }
  let decoded: Uint8Array;
  try {
    decoded = zlib.zstdDecompressSync(frame, {
      // One byte at least: the runtimes reject a limit of none.
      maxOutputLength: Math.max(1, maxLength),
      chunkSize: Math.max(PORTION_MIN, Math.min(size ?? PORTION, maxLength)),
      params: { [zlib.constants.ZSTD_d_windowLogMax]: maxWindowLog },
    });
  } catch (cause) {
    const tooLong =
      cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";
    throw corrupt(
      tooLong ? `it decodes to more than ${maxLength} bytes` : "its blocks do not decode",
      cause as Error,
    );
  }
  if (decoded.length > maxLength) throw corrupt(`it decodes to more than ${maxLength} bytes`);
  if (size !== undefined && decoded.length !== size) {
    throw corrupt("it decodes to another length than it states");
  }
  return decoded;
}
