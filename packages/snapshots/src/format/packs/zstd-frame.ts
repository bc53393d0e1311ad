import { constants, zstdDecompressSync } from "node:zlib";
import { ZSTD_WINDOW_MAX } from "../limits.ts";
import { malformed } from "../checks.ts";

/** The first four bytes, little-endian. */
const MAGIC = 0xfd2fb528;
const WINDOW_LOG_MAX = Math.log2(ZSTD_WINDOW_MAX);

const FLAG_SINGLE_SEGMENT = 0b0010_0000;
const FLAG_RESERVED = 0b0000_1000;
const FLAG_CHECKSUM = 0b0000_0100;
const DICTIONARY = 0b0000_0011;

const BLOCK_HEADER = 3;
const BLOCK_RLE = 1;
const BLOCK_RESERVED = 3;
const CHECKSUM = 4;

/**
 * Decodes bytes that are exactly one zstd frame (RFC 8878) without a dictionary, with a window of at
 * most 8 MiB. Holds at most `max` decoded bytes, and a few more.
 *
 * The frame's structure is read here first, because decoders of runtimes accept bytes after a frame,
 * several frames, and frames that are cut short.
 */
export function decodeZstdFrame(frame: Uint8Array, max: number): Uint8Array {
  if (checkedFrame(frame) > max) throw malformed(`it decodes to more than ${max} bytes`);
  let decoded: Uint8Array;
  try {
    decoded = zstdDecompressSync(frame, {
      maxOutputLength: max,
      // One piece of output, so that it is not put together from pieces.
      chunkSize: Math.max(max, constants.Z_MIN_CHUNK),
      params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG_MAX },
    });
  } catch {
    throw malformed(`its zstd frame is corrupt or decodes to more than ${max} bytes`);
  }
  return decoded;
}

/** The length that the frame announces, or 0 if it announces none. */
function checkedFrame(frame: Uint8Array): number {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const has = (length: number) => {
    if (length > frame.length) throw malformed("its zstd frame is cut short");
  };
  has(5);
  if (view.getUint32(0, true) !== MAGIC) throw malformed("it has no zstd frame");
  const flags = frame[4]!;
  if ((flags & (DICTIONARY | FLAG_RESERVED)) !== 0) {
    throw malformed("its zstd frame has a dictionary, or a flag that is not defined");
  }
  let at = 5;
  if ((flags & FLAG_SINGLE_SEGMENT) === 0) {
    has(at + 1);
    const descriptor = frame[at++]!;
    const base = 2 ** (10 + (descriptor >> 3));
    if (base + (base / 8) * (descriptor & 7) > ZSTD_WINDOW_MAX) {
      throw malformed(`its zstd frame has a window of more than ${ZSTD_WINDOW_MAX} bytes`);
    }
  }
  const width = SIZE_WIDTHS[flags >> 6]! || ((flags & FLAG_SINGLE_SEGMENT) === 0 ? 0 : 1);
  has(at + width);
  const announced = announcedSize(view, at, width);
  at += width;
  for (let last = false; !last;) {
    has(at + BLOCK_HEADER);
    const header = view.getUint16(at, true) | (frame[at + 2]! << 16);
    const type = (header >> 1) & 3;
    if (type === BLOCK_RESERVED) throw malformed("its zstd frame has a block of an unknown type");
    last = (header & 1) === 1;
    at += BLOCK_HEADER + (type === BLOCK_RLE ? 1 : header >> 3);
  }
  if ((flags & FLAG_CHECKSUM) !== 0) at += CHECKSUM;
  has(at);
  if (at !== frame.length) throw malformed("bytes follow its zstd frame");
  return announced;
}

/** Bytes of the content size by the upper two bits of the flags. */
const SIZE_WIDTHS = [0, 2, 4, 8] as const;

function announcedSize(view: DataView, at: number, width: number): number {
  if (width === 0) return 0;
  if (width === 1) return view.getUint8(at);
  if (width === 2) return view.getUint16(at, true) + 256;
  if (width === 4) return view.getUint32(at, true);
  return Number(view.getBigUint64(at, true));
}
