import { StorageError } from "../../errors.ts";

/** The first four bytes, little-endian. */
const MAGIC = 0xfd2fb528;

/** Bits of the frame header's first byte; the upper two encode the width of the content size. */
const FLAG_SINGLE_SEGMENT = 0b0010_0000;
const FLAG_RESERVED = 0b0000_1000;
const FLAG_CHECKSUM = 0b0000_0100;
const DICTIONARY = 0b0000_0011;

/** The first bytes of a frame, which tell the length of its header. */
export const HEADER_MIN = 5;

/** The most bytes of a frame header without a dictionary. */
export const HEADER_MAX = 14;

/** Bytes of a block's header: one bit for the last block, two for its type, then its size. */
export const BLOCK_HEADER = 3;

/** Block types whose size field is not the number of bytes that follow. */
const BLOCK_RLE = 1;
const BLOCK_RESERVED = 3;

/** The maximum length of a block in bytes, both encoded and decoded. */
export const BLOCK_MAX: number = 128 * 1024;

/** Bytes of the content's checksum. */
export const CHECKSUM = 4;

/** What a frame's header says (RFC 8878, 3.1.1.1). */
export interface FrameHeader {
  /** Bytes of content; undefined if the header does not have them. */
  readonly size: number | undefined;
  /** Bytes of history that decoding takes; undefined if it takes the content itself. */
  readonly window: number | undefined;
  /** Whether a checksum follows the blocks. */
  readonly checksum: boolean;
}

/**
 * The length of a frame's header.
 *
 * @param bytes at least the first `HEADER_MIN` of the frame
 * @throws StorageError `encoding`
 */
export function headerLength(bytes: Uint8Array): number {
  if (view(bytes).getUint32(0, true) !== MAGIC) {
    throw corrupt("it does not begin with a frame's magic number");
  }
  const descriptor = bytes[4]!;
  if ((descriptor & FLAG_RESERVED) !== 0) throw corrupt("its header has reserved values");
  if ((descriptor & DICTIONARY) !== 0) {
    throw corrupt("it needs a dictionary, which is not supported");
  }
  return sizeOffset(descriptor) + sizeWidth(descriptor);
}

/** @param header exactly the header */
export function parseHeader(header: Uint8Array): FrameHeader {
  const descriptor = header[4]!;
  const singleSegment = (descriptor & FLAG_SINGLE_SEGMENT) !== 0;
  return {
    size: readSize(view(header), sizeOffset(descriptor), sizeWidth(descriptor)),
    window: singleSegment ? undefined : windowSize(header[5]!),
    checksum: (descriptor & FLAG_CHECKSUM) !== 0,
  };
}

/**
 * The length of a block with its header, and whether it is the last one.
 *
 * @param header its first `BLOCK_HEADER` bytes
 * @throws StorageError `encoding`
 */
export function parseBlock(header: Uint8Array): { length: number; last: boolean } {
  const bits = header[0]! | (header[1]! << 8) | (header[2]! << 16);
  const type = (bits >>> 1) & 3;
  const size = bits >>> 3;
  if (type === BLOCK_RESERVED) throw corrupt("a block has the reserved type");
  if (size > BLOCK_MAX) throw corrupt(`a block is longer than ${BLOCK_MAX} bytes`);
  return { length: BLOCK_HEADER + (type === BLOCK_RLE ? 1 : size), last: (bits & 1) !== 0 };
}

/**
 * The header of a frame that is whole and fills `bytes`. The runtimes' decoders take a truncated
 * frame for a complete one, and decode or ignore what follows it.
 *
 * @throws StorageError `encoding`
 */
export function parseWholeFrame(bytes: Uint8Array): FrameHeader {
  if (bytes.length < HEADER_MIN) throw corrupt("it is truncated");
  let end = headerLength(bytes);
  if (bytes.length < end) throw corrupt("it is truncated");
  const header = parseHeader(bytes.subarray(0, end));
  for (let last = false; !last;) {
    if (bytes.length - end < BLOCK_HEADER) throw corrupt("it is truncated");
    const block = parseBlock(bytes.subarray(end, end + BLOCK_HEADER));
    end += block.length;
    last = block.last;
  }
  if (header.checksum) end += CHECKSUM;
  if (bytes.length < end) throw corrupt("it is truncated");
  if (bytes.length > end) throw corrupt("bytes follow it");
  return header;
}

function sizeOffset(descriptor: number): number {
  return (descriptor & FLAG_SINGLE_SEGMENT) !== 0 ? 5 : 6;
}

function sizeWidth(descriptor: number): number {
  const code = descriptor >>> 6;
  return code === 0 ? Number((descriptor & FLAG_SINGLE_SEGMENT) !== 0) : 2 ** code;
}

/** The content's length in bytes from the header; above 2^53 it is rounded, but not a safe integer. */
function readSize(view: DataView, offset: number, width: number): number | undefined {
  if (width === 0) return undefined;
  if (width === 1) return view.getUint8(offset);
  if (width === 2) return view.getUint16(offset, true) + 256;
  const low = view.getUint32(offset, true);
  return width === 4 ? low : view.getUint32(offset + 4, true) * 2 ** 32 + low;
}

/** The window's length in bytes: a power of two plus eighths of it (RFC 8878, 3.1.1.1.2). */
function windowSize(descriptor: number): number {
  return 2 ** (10 + (descriptor >>> 3)) * (1 + (descriptor & 7) / 8);
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function corrupt(detail: string, cause?: Error): StorageError {
  return new StorageError("encoding", `the content is not a valid zstd frame: ${detail}`, {
    cause,
  });
}
