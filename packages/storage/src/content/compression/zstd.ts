import type { ByteReader } from "../byte-reader.ts";
import { StorageError, usage } from "../../errors.ts";
import {
  BLOCK_HEADER,
  BLOCK_MAX,
  CHECKSUM,
  corrupt,
  HEADER_MAX,
  HEADER_MIN,
  headerLength,
  parseBlock,
  parseHeader,
} from "./zstd-frame.ts";

/** The largest window a frame may require, as a power of two: 128 MiB, the maximum of encoders. */
const WINDOW_LOG_MAX = 27;

/** The most decoded bytes yielded at once. */
const PIECE = 64 * 1024;

/**
 * Decodes exactly one frame (RFC 8878) with the runtime's decoder. Holds a few blocks, and the
 * frame's window up to the length of the content.
 *
 * The frame's structure is parsed here because the runtimes' streams hide it: most accept a truncated
 * frame as complete, and bytes after a frame are decoded, rejected or ignored depending on the
 * runtime and on how the input is split.
 *
 * @param length the most bytes that the frame may decode to
 * @throws StorageError `encoding`, and what reading the source throws
 */
export async function* decodeZstdFrame(
  source: ByteReader,
  length: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const decoder = openDecoder();
  try {
    // Blocks are batched, because one may be a single byte, and each call of the decoder involves
    // another thread. They are copied, because the source's memory is borrowed.
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

/** Reads the frame's header into the start of `into`. */
async function readHeader(
  source: ByteReader,
  into: Uint8Array,
  length: number,
): Promise<{ length: number; checksum: boolean }> {
  await readExactly(source, into.subarray(0, HEADER_MIN));
  const end = headerLength(into);
  await readExactly(source, into.subarray(HEADER_MIN, end));
  const { size, window, checksum } = parseHeader(into.subarray(0, end));
  if (size !== undefined && size !== length) {
    throw corrupt(`its length differs from the ${length} bytes of its metadata`);
  }
  if ((window ?? length) > 2 ** WINDOW_LOG_MAX) {
    throw corrupt(`it requires a window of more than 2^${WINDOW_LOG_MAX} bytes`);
  }
  return { length: end, checksum };
}

/** Reads a block with its header into the start of `into`. */
async function readBlock(
  source: ByteReader,
  into: Uint8Array,
): Promise<{ length: number; last: boolean }> {
  const block = parseBlock(await readExactly(source, into.subarray(0, BLOCK_HEADER)));
  await readExactly(source, into.subarray(BLOCK_HEADER, block.length));
  return block;
}

/** The runtime's decoder. */
function openDecoder(): CodecStream {
  const zlib = zlibWith("createZstdDecompress");
  if (zlib === undefined) {
    throw new StorageError(
      "encoding",
      "the content is compressed with zstd, which this runtime cannot decode: read it with Bun or " +
        "Node.js 22.15 or later, or write it with lz4",
    );
  }
  const stream = zlib.createZstdDecompress({
    chunkSize: BLOCK_MAX,
    params: { [zlib.constants.ZSTD_d_windowLogMax]: WINDOW_LOG_MAX },
  });
  return codecStream(stream, (cause) => corrupt("its blocks do not decode", cause));
}

/** Copies, because the decoder reuses the memory of its output. */
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
  if ((await source.fill(into)) < into.length) throw corrupt("it is truncated");
  return into;
}

/** zstd's default: often half the size of LZ4's output, and still faster than most networks. */
const LEVEL = 3;

/**
 * Bytes per write to the encoder. Always the same number, so that the output depends only on the
 * content, not on how a stream splits it.
 */
const PORTION = 1024 * 1024;

/** The most encoded bytes yielded at once: the unencoded length of a block. */
const ENCODED_PIECE = 128 * 1024;

/**
 * Encodes content as one Zstandard frame (RFC 8878) with a checksum, with the runtime's encoder. The
 * frame does not contain its length, which the writer of a stream cannot know, and requires a window
 * of 2 MiB.
 *
 * @throws StorageError `usage` if the runtime has no zstd
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
      // Only after all writes have completed: otherwise the runtimes append a second, empty frame
      // (seen in Node.js 22.23 and Bun 1.4.5).
      yield* encoder.end();
    } finally {
      encoder.close();
    }
  };
}

type Zlib = typeof import("node:zlib");

/** The runtime's function that must exist. */
type Opener = "createZstdCompress" | "createZstdDecompress";

/**
 * The runtime's zlib, if it has zstd. Looked up at run time, so that a bundle for the browser does
 * not import it.
 */
export function zlibWith(opener: Opener): Zlib | undefined {
  const zlib: Partial<Zlib> | undefined =
    typeof process === "undefined" ? undefined : process.getBuiltinModule?.("node:zlib");
  return zlib?.[opener] && zlib.constants ? zlib : undefined;
}

/** A codec of the runtime. It works in another thread, and pauses until its output is taken. */
export interface CodecStream {
  /**
   * Writes a part and yields the output. The part must not change until the generator ends, or ever
   * if the generator is left early. Do not call it again before then.
   */
  write(part: Uint8Array): AsyncGenerator<Uint8Array>;
  /** Ends the input and yields the rest. */
  end(): AsyncGenerator<Uint8Array>;
  close(): void;
}

/** @param failed creates the error to throw if the codec fails */
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
