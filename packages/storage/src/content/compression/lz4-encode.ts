import {
  FLAG_CONTENT_CHECKSUM,
  FLAG_INDEPENDENT,
  MAGIC,
  STORED,
  VERSION_1,
  loadXxhash,
} from "./lz4-decode.ts";
import { StorageError } from "../../errors.ts";
import type { ByteReader } from "../byte-reader.ts";
import type { XXHashAPI } from "xxhash-wasm";
import { concat } from "../../bytes.ts";
import { pMapIterable } from "p-map";

/**
 * Bytes per block. Blocks are independent, so that several threads encode them. Larger ones compress
 * 0.4 % better and leave much more garbage to collect.
 */
const BLOCK = 256 * 1024;

const BLOCK_CODE = 5;

/** Blocks being encoded, or encoded and not yet taken. */
const IN_FLIGHT = 4;

/** Bytes of a block's header: its length. */
const HEADER = 4;

/** Bytes hashed at once. */
const HASHED = 64 * 1024;

/** Encodes one block in another thread. The result starts with four unused bytes. */
type EncodeBlock = (block: Uint8Array) => Promise<Uint8Array>;

/**
 * Encodes content as one LZ4 frame (LZ4 Frame Format Description 1.6) with a checksum. Holds about
 * ten blocks in memory.
 *
 * @throws StorageError `usage` if the package that encodes blocks does not load
 */
export async function loadLz4Encoder(): Promise<
  (source: ByteReader) => AsyncGenerator<Uint8Array>
> {
  const encodeBlock = await loadEncodeBlock();
  const xxh = await loadXxhash();
  return async function* encodeLz4Frame(source) {
    // Memory is reused: if the garbage collector frees late, the process would grow.
    const idle: Uint8Array[] = [];
    const encode = async (plain: Uint8Array) => {
      const block = await encodeWithHeader(plain, encodeBlock);
      if (block !== plain && plain.length === HEADER + BLOCK) idle.push(plain);
      return block;
    };
    const checksum = xxh.create32();
    async function* readBlocks(): AsyncGenerator<Uint8Array> {
      for (let filled = BLOCK; filled === BLOCK;) {
        const memory = idle.pop() ?? new Uint8Array(HEADER + BLOCK);
        filled = await source.fill(memory.subarray(HEADER));
        const end = HEADER + filled;
        for (let from = HEADER; from < end; from += HASHED) {
          checksum.update(memory.subarray(from, Math.min(from + HASHED, end)));
        }
        if (filled > 0) yield memory.subarray(0, end);
      }
    }

    yield header(xxh);
    yield* pMapIterable(readBlocks(), encode, { concurrency: IN_FLIGHT });
    yield concat(uint32(0), uint32(checksum.digest()));
  };
}

/** Magic number and descriptor. */
function header(xxh: XXHashAPI): Uint8Array {
  const flags = VERSION_1 | FLAG_INDEPENDENT | FLAG_CONTENT_CHECKSUM;
  const descriptor = Uint8Array.of(flags, BLOCK_CODE << 4);
  const check = (xxh.create32().update(descriptor).digest() >>> 8) & 0xff;
  return concat(uint32(MAGIC), descriptor, Uint8Array.of(check));
}

/**
 * @param plain room for the header, then the block
 * @returns the header, then the encoded block; or the block unchanged if that is not longer
 */
async function encodeWithHeader(plain: Uint8Array, encodeBlock: EncodeBlock): Promise<Uint8Array> {
  const encoded = await encodeBlock(plain.subarray(HEADER));
  const stored = encoded.length >= plain.length;
  const block = stored ? plain : encoded;
  const length = block.length - HEADER;
  view(block).setUint32(0, stored ? STORED + length : length, true);
  return block;
}

/** Its results start with four bytes that are not part of the block. */
type Lz4 = Pick<typeof import("#lz4-native"), "compress" | "compressSync">;

let loaded: Promise<Lz4> | undefined;

/**
 * Loads the function that encodes one block in this thread.
 *
 * @throws StorageError `usage` if the package that encodes blocks does not load
 */
export async function loadLz4BlockEncoder(): Promise<(bytes: Uint8Array) => Uint8Array> {
  const lz4 = await loadLz4();
  return (bytes) =>
    lz4
      .compressSync(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
      .subarray(HEADER);
}

async function loadEncodeBlock(): Promise<EncodeBlock> {
  return (await loadLz4()).compress;
}

async function loadLz4(): Promise<Lz4> {
  // Imported here because native code takes time to load and may not be installed.
  loaded ??= import("#lz4-native").then((module) => module.default);
  try {
    return await loaded;
  } catch (cause) {
    loaded = undefined;
    throw new StorageError(
      "usage",
      "cannot load the native LZ4 library: install lz4-napi, or choose the compression " +
        '"zstd" or "auto"',
      { cause },
    );
  }
}

function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  view(bytes).setUint32(0, value, true);
  return bytes;
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
