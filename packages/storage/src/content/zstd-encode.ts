import { codecStream, zlibWith } from "./zstd-stream.ts";
import type { ByteReader } from "./source.ts";
import { StorageError, usage } from "../errors.ts";

/** zstd's own default: half the size of LZ4's frames on much, still faster than most networks. */
const LEVEL = 3;

/**
 * Bytes fed at once. Always the same number, so that what comes out depends on the content alone,
 * and not on how a stream happened to cut it.
 */
const PORTION = 1024 * 1024;

/** Bytes handed out at once, at most: those of a block, which has 128 KiB before it is encoded. */
const PIECE = 128 * 1024;

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
    const stream = zlib.createZstdCompress({ chunkSize: PIECE, params });
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
