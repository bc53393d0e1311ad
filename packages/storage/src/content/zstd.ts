import { type CodecStream, codecStream, zlibWith } from "./zstd-stream.ts";
import type { ByteReader } from "./source.ts";
import { StorageError } from "../errors.ts";

/** The first four bytes, little-endian. */
const MAGIC = 0xfd2fb528;

/** Bits of the frame header's first byte; the upper two are a code for the content size's width. */
const FLAG_SINGLE_SEGMENT = 0b0010_0000;
const FLAG_RESERVED = 0b0000_1000;
const FLAG_CHECKSUM = 0b0000_0100;
const DICTIONARY = 0b0000_0011;

/** Bytes of a frame header without a dictionary, at most. */
const HEADER_MAX = 14;

/** Bytes of a block's header: one bit for the last block, two for its type, then its size. */
const BLOCK_HEADER = 3;

/** Types of blocks whose size is not the number of bytes that follow. */
const BLOCK_RLE = 1;
const BLOCK_RESERVED = 3;

/** The greatest length of a block in bytes, encoded and decoded. */
const BLOCK_MAX = 128 * 1024;

/** Bytes of the checksum of the content. */
const CHECKSUM = 4;

/** The greatest window a frame may ask for, as a power of two: 128 MiB, where encoders stop too. */
const WINDOW_LOG_MAX = 27;

/** How many decoded bytes are handed out at once, at most. */
const PIECE = 64 * 1024;

/**
 * Decodes one frame (RFC 8878) up to its end and no further, with the decoder of the runtime.
 * Holds a few blocks, and of the frame's window as much as there is content.
 *
 * The frame's structure is followed here, because the runtimes' streams hide it: most take a
 * frame that was cut short for a whole one, and what follows a frame is decoded, an error or
 * nothing at all, depending on the runtime and on how the input happens to be cut.
 *
 * @param length how many bytes the frame may decode to
 * @throws StorageError `encoding`, and what reading the source throws
 */
export async function* decodeZstdFrame(
  source: ByteReader,
  length: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const decoder = openDecoder();
  try {
    // Blocks are collected, because one may have a single byte and each call of the decoder
    // is a trip to another thread. The memory is ours: the source's is lent.
    const batch = new Uint8Array(HEADER_MAX + 2 * (BLOCK_HEADER + BLOCK_MAX) + CHECKSUM);
    const header = await readHeader(source, batch, length);
    let filled = header.length;
    for (let last = false; !last;) {
      if (batch.length - filled < BLOCK_HEADER + BLOCK_MAX + CHECKSUM) {
        yield* copiesOf(decoder.write(batch.subarray(0, filled)));
        filled = 0;
      }
      const block = await readBlock(source, batch.subarray(filled));
      last = block.last;
      filled += block.length;
    }
    if (header.checksum) {
      await readExactly(source, batch.subarray(filled, filled + CHECKSUM));
      filled += CHECKSUM;
    }
    yield* copiesOf(decoder.write(batch.subarray(0, filled)));
  } finally {
    decoder.close();
  }
}

/** Reads the frame's header to the front of `into`. */
async function readHeader(
  source: ByteReader,
  into: Uint8Array,
  length: number,
): Promise<{ length: number; checksum: boolean }> {
  const view = new DataView(into.buffer, into.byteOffset);
  await readExactly(source, into.subarray(0, 4));
  if (view.getUint32(0, true) !== MAGIC) {
    throw corrupt("it does not begin with a frame's magic number");
  }
  await readExactly(source, into.subarray(4, 5));
  const descriptor = view.getUint8(4);
  if ((descriptor & FLAG_RESERVED) !== 0) throw corrupt("its header has reserved values");
  if ((descriptor & DICTIONARY) !== 0) throw corrupt("it needs a dictionary, and there are none");
  const singleSegment = (descriptor & FLAG_SINGLE_SEGMENT) !== 0;
  const sizeCode = descriptor >>> 6;
  const sizeLength = sizeCode === 0 ? Number(singleSegment) : 2 ** sizeCode;
  const sizeAt = singleSegment ? 5 : 6;
  const end = sizeAt + sizeLength;
  await readExactly(source, into.subarray(5, end));

  const size = readSize(view, sizeAt, sizeLength);
  if (size !== undefined && size !== length) {
    throw corrupt(`it states another length than its metadata, which says ${length} bytes`);
  }
  const window = singleSegment ? length : windowSize(view.getUint8(5));
  if (window > 2 ** WINDOW_LOG_MAX) {
    throw corrupt(`it asks for a window of more than 2^${WINDOW_LOG_MAX} bytes`);
  }
  return { length: end, checksum: (descriptor & FLAG_CHECKSUM) !== 0 };
}

/** The content's length in bytes as the header has it; above 2^53 rounded, and never a safe integer. */
function readSize(view: DataView, offset: number, width: number): number | undefined {
  if (width === 0) return undefined;
  if (width === 1) return view.getUint8(offset);
  if (width === 2) return view.getUint16(offset, true) + 256;
  const low = view.getUint32(offset, true);
  return width === 4 ? low : view.getUint32(offset + 4, true) * 2 ** 32 + low;
}

/** The window's length in bytes: a power of two and eighths of it (RFC 8878, 3.1.1.1.2). */
function windowSize(descriptor: number): number {
  return 2 ** (10 + (descriptor >>> 3)) * (1 + (descriptor & 7) / 8);
}

/** Reads a block with its header to the front of `into`. */
async function readBlock(
  source: ByteReader,
  into: Uint8Array,
): Promise<{ length: number; last: boolean }> {
  const header = await readExactly(source, into.subarray(0, BLOCK_HEADER));
  const bits = header[0]! | (header[1]! << 8) | (header[2]! << 16);
  const type = (bits >>> 1) & 3;
  const size = bits >>> 3;
  if (type === BLOCK_RESERVED) throw corrupt("a block has the reserved type");
  if (size > BLOCK_MAX) throw corrupt(`a block is longer than ${BLOCK_MAX} bytes`);
  const length = BLOCK_HEADER + (type === BLOCK_RLE ? 1 : size);
  await readExactly(source, into.subarray(BLOCK_HEADER, length));
  return { length, last: (bits & 1) !== 0 };
}

/** The runtime's decoder. */
function openDecoder(): CodecStream {
  const zlib = zlibWith("createZstdDecompress");
  if (zlib === undefined) {
    throw new StorageError(
      "encoding",
      "the content is encoded with zstd, which this runtime cannot decode: read it with Bun, " +
        "Node.js 22.15 or later, or write it with lz4",
    );
  }
  const stream = zlib.createZstdDecompress({
    chunkSize: BLOCK_MAX,
    params: { [zlib.constants.ZSTD_d_windowLogMax]: WINDOW_LOG_MAX },
  });
  return codecStream(stream, (cause) => corrupt("its blocks do not decode", cause));
}

/** Copies, because the decoder's output shares memory with what it decodes next. */
async function* copiesOf(
  decoded: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for await (const piece of decoded) {
    for (let from = 0; from < piece.length; from += PIECE) {
      yield new Uint8Array(piece.subarray(from, from + PIECE));
    }
  }
}

async function readExactly(source: ByteReader, into: Uint8Array): Promise<Uint8Array> {
  if ((await source.fill(into)) < into.length) throw corrupt("it is cut short");
  return into;
}

function corrupt(detail: string, cause?: Error): StorageError {
  return new StorageError("encoding", `the content is not the zstd frame it should be: ${detail}`, {
    cause,
  });
}
