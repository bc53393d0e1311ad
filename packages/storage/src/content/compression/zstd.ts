import type { ByteReader } from "../byte-reader.ts";
import { StorageError, usage } from "../../errors.ts";

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

/** zstd's own default: half the size of LZ4's frames on much, still faster than most networks. */
const LEVEL = 3;

/**
 * Bytes fed at once. Always the same number, so that what comes out depends on the content alone,
 * and not on how a stream happened to cut it.
 */
const PORTION = 1024 * 1024;

/** Bytes handed out at once, at most: those of a block, which has 128 KiB before it is encoded. */
const ENCODED_PIECE = 128 * 1024;

/**
 * Encodes content as one Zstandard frame (RFC 8878) with a checksum, by the encoder of the runtime.
 * The frame does not state its length, which a stream's writer cannot know, and asks a reader for a
 * window of 2 MiB.
 *
 * @throws StorageError `usage` where the runtime has no zstd
 */
export async function loadZstdEncoder(): Promise<
  (source: ByteReader) => AsyncGenerator<Uint8Array>
> {
  const zlib = zlibWith("createZstdCompress");
  if (zlib === undefined) {
    throw usage(
      "this runtime cannot compress with zstd: run Bun or Node.js 22.15 or later, or choose the " +
        'compression "lz4" or "auto"',
    );
  }
  const { ZSTD_c_compressionLevel, ZSTD_c_checksumFlag } = zlib.constants;
  const params = { [ZSTD_c_compressionLevel]: LEVEL, [ZSTD_c_checksumFlag]: 1 };
  return async function* encodeZstdFrame(source) {
    const stream = zlib.createZstdCompress({ chunkSize: ENCODED_PIECE, params });
    const encoder = codecStream(
      stream,
      (cause) => new StorageError("encoding", "the content could not be compressed", { cause }),
    );
    try {
      const portion = new Uint8Array(PORTION);
      for (let filled = PORTION; filled === PORTION;) {
        filled = await source.fill(portion);
        if (filled > 0) yield* encoder.write(portion.subarray(0, filled));
      }
      // Only now that nothing waits to be written: otherwise the runtimes write a second frame, an
      // empty one, behind the content's (seen in Node.js 22.23 and Bun 1.4.5).
      yield* encoder.end();
    } finally {
      encoder.close();
    }
  };
}

type Zlib = typeof import("node:zlib");

/** Which of the runtime's functions there have to be. */
type Opener = "createZstdCompress" | "createZstdDecompress";

/**
 * The runtime's zlib, if it has zstd. Asked for at run time, so that a bundle for the browser never
 * names it.
 */
export function zlibWith(opener: Opener): Zlib | undefined {
  const zlib: Partial<Zlib> | undefined =
    typeof process === "undefined" ? undefined : process.getBuiltinModule?.("node:zlib");
  return zlib?.[opener] && zlib.constants ? zlib : undefined;
}

/** A codec of the runtime, which works in another thread and waits where its output is not taken. */
export interface CodecStream {
  /**
   * Feeds a part and hands out what that gives. The part must stay as it is until the generator
   * ends, and for good where it is left early. One at a time.
   */
  write(part: Uint8Array): AsyncGenerator<Uint8Array>;
  /** Ends the input and hands out the rest. */
  end(): AsyncGenerator<Uint8Array>;
  close(): void;
}

/** @param failed makes the error to throw where the codec fails */
export function codecStream(
  stream: import("node:stream").Transform,
  failed: (cause: Error) => Error,
): CodecStream {
  let failure: Error | undefined;
  let ended = false;
  let wake = () => {};
  stream.on("readable", () => wake());
  stream.on("error", (error) => {
    failure ??= error;
    wake();
  });
  stream.on("close", () => {
    if (!ended) failure ??= new Error("the codec closed early");
    wake();
  });

  async function* run(start: (done: (error?: Error | null) => void) => void) {
    let done = false;
    start((error) => {
      failure ??= error ?? undefined;
      done = true;
      wake();
    });
    for (;;) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const piece = stream.read() as Uint8Array | null;
      if (failure) throw failed(failure);
      if (piece) yield piece;
      else if (done) return;
      else await woken;
    }
  }

  return {
    write: (part) => run((done) => stream.write(part, done)),
    end: () =>
      run((done) => {
        stream.once("end", () => {
          ended = true;
          done();
        });
        stream.end();
      }),
    close: () => stream.destroy(),
  };
}
