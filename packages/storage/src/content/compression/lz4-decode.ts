import type { ByteReader } from "../byte-reader.ts";
import { StorageError } from "../../errors.ts";
import xxhash, { type XXHashAPI } from "xxhash-wasm";
import { decodeBlock } from "./lz4-block.ts";

/** The first four bytes, little-endian, of a frame and of the legacy format. */
export const MAGIC: number = 0x184d2204;
const MAGIC_LEGACY = 0x184c2102;

/** Bits of the descriptor's first byte; the upper two are the version. */
const FLAG_VERSION = 0b1100_0000;
export const VERSION_1: number = 0b0100_0000;
export const FLAG_INDEPENDENT: number = 0b0010_0000;
const FLAG_BLOCK_CHECKSUM = 0b0001_0000;
const FLAG_CONTENT_SIZE = 0b0000_1000;
export const FLAG_CONTENT_CHECKSUM: number = 0b0000_0100;
const FLAG_RESERVED = 0b0000_0010;
const FLAG_DICTIONARY = 0b0000_0001;

/** Bits of the descriptor's second byte except the three for the maximum block length. */
const BLOCK_RESERVED = 0b1000_1111;

/** The maximum length of a block in bytes, by its code in the descriptor. */
const BLOCK_MAX: ReadonlyMap<number, number> = new Map([
  [4, 64 * 1024],
  [5, 256 * 1024],
  [6, 1024 * 1024],
  [7, 4 * 1024 * 1024],
]);

/** Bit of a block's length: the block is stored uncompressed. */
export const STORED: number = 0x8000_0000;

/** How many bytes back a match may reach, across earlier blocks unless they are independent. */
const WINDOW = 64 * 1024;

/** The most decoded bytes yielded at once. */
const PIECE = 64 * 1024;

interface Descriptor {
  readonly independent: boolean;
  readonly blockChecksums: boolean;
  readonly contentChecksum: boolean;
  /** The maximum length of a block in bytes, both encoded and decoded. */
  readonly blockMax: number;
}

/**
 * Decodes exactly one frame (LZ4 Frame Format Description 1.6). Holds two blocks of the frame's
 * size, 64 KiB to 4 MiB each, or less if `length` is smaller.
 *
 * @param length the most bytes that the frame may decode to
 * @throws StorageError `encoding`, and what reading the source throws
 */
export async function* decodeLz4Frame(
  source: ByteReader,
  length: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const xxh = await loadXxhash();
  const frame = await readDescriptor(source, length, xxh);
  const readBlock = blockReader(source, frame, xxh);
  const checksum = frame.contentChecksum ? xxh.create32() : undefined;
  // A block is decoded directly after the bytes that its matches may reach. There is room for two
  // windows, so that a window does not have to be moved for every tiny block.
  const history = frame.independent ? 0 : WINDOW;
  const output = new Uint8Array(2 * history + Math.min(frame.blockMax, length));
  let start = 0;
  let remaining = length;
  for (;;) {
    const room = Math.min(frame.blockMax, remaining);
    if (start + room > output.length) {
      output.copyWithin(0, start - history, start);
      start = history;
    }
    const end = await readBlock(output, start, start + room);
    if (end === "end mark") break;
    if (end === undefined) {
      throw corrupt(
        room < frame.blockMax
          ? `it decodes to more than the ${length} bytes of its metadata`
          : "a block decodes to more than the frame's block length",
      );
    }
    remaining -= end - start;
    for (let from = start; from < end; from += PIECE) {
      const piece = output.slice(from, Math.min(from + PIECE, end));
      checksum?.update(piece);
      yield piece;
    }
    start = frame.independent ? 0 : end;
  }
  if (checksum && (await readUint32(source)) !== checksum.digest()) {
    throw corrupt("its content does not match its checksum");
  }
}

/** Reads the magic number and the descriptor of the rest. */
async function readDescriptor(
  source: ByteReader,
  length: number,
  xxh: XXHashAPI,
): Promise<Descriptor> {
  const magic = await readUint32(source);
  if (magic === MAGIC_LEGACY) throw corrupt("it has the legacy format; encode it as a frame");
  if (magic !== MAGIC) throw corrupt("it does not begin with a frame's magic number");

  const fixed = await readExactly(source, new Uint8Array(2));
  const flags = fixed[0]!;
  const has = (flag: number) => (flags & flag) !== 0;
  if ((flags & FLAG_VERSION) !== VERSION_1) throw corrupt("its version is unknown");
  const blockMax = BLOCK_MAX.get(fixed[1]! >>> 4);
  if (has(FLAG_RESERVED) || (fixed[1]! & BLOCK_RESERVED) !== 0 || blockMax === undefined) {
    throw corrupt("its descriptor has reserved values");
  }
  if (has(FLAG_DICTIONARY)) throw corrupt("it needs a dictionary, which is not supported");
  const size = await readExactly(source, new Uint8Array(has(FLAG_CONTENT_SIZE) ? 8 : 0));
  const [expected] = await readExactly(source, new Uint8Array(1));
  if (((xxh.create32().update(fixed).update(size).digest() >>> 8) & 0xff) !== expected) {
    throw corrupt("its descriptor does not match its checksum");
  }
  // Above 2^53 the sum is rounded, but it is still not a safe integer, as `length` is.
  if (size.length > 0 && uint32(size, 4) * 2 ** 32 + uint32(size, 0) !== length) {
    throw corrupt(`its length differs from the ${length} bytes of its metadata`);
  }
  return {
    independent: has(FLAG_INDEPENDENT),
    blockChecksums: has(FLAG_BLOCK_CHECKSUM),
    contentChecksum: has(FLAG_CONTENT_CHECKSUM),
    blockMax,
  };
}

/** Decodes the next block into `output` from `start`, at most to `end`, and returns its end. */
type ReadBlock = (
  output: Uint8Array<ArrayBuffer>,
  start: number,
  end: number,
) => Promise<number | "end mark" | undefined>;

function blockReader(source: ByteReader, frame: Descriptor, xxh: XXHashAPI): ReadBlock {
  let encoded = new Uint8Array(0);

  const verify = async (block: Uint8Array) => {
    if (!frame.blockChecksums) return;
    const checksum = xxh.create32();
    // In portions, because the module's memory grows to the longest input and never shrinks.
    for (let from = 0; from < block.length; from += PIECE) {
      checksum.update(block.subarray(from, from + PIECE));
    }
    if ((await readUint32(source)) !== checksum.digest()) {
      throw corrupt("a block does not match its checksum");
    }
  };

  return async (output, start, end) => {
    const header = await readUint32(source);
    if (header === 0) return "end mark";
    const size = header % STORED;
    if (size > frame.blockMax) throw corrupt("a block is longer than the frame's block length");
    if (header >= STORED) {
      if (size > end - start) return undefined;
      const stored = await readExactly(source, output.subarray(start, start + size));
      await verify(stored);
      return start + size;
    }
    if (size > encoded.length) {
      encoded = new Uint8Array(Math.min(frame.blockMax, Math.max(size, 2 * encoded.length)));
    }
    const block = await readExactly(source, encoded.subarray(0, size));
    await verify(block);
    return decodeBlock(block, output, start, end);
  };
}

async function readExactly<B extends Uint8Array>(source: ByteReader, into: B): Promise<B> {
  if ((await source.fill(into)) < into.length) throw corrupt("it is truncated");
  return into;
}

async function readUint32(source: ByteReader): Promise<number> {
  return uint32(await readExactly(source, new Uint8Array(4)), 0);
}

function uint32(bytes: Uint8Array, offset: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(offset, true);
}

function corrupt(detail: string): StorageError {
  return new StorageError("encoding", `the content is not a valid LZ4 frame: ${detail}`);
}

let loaded: Promise<XXHashAPI> | undefined;

/**
 * The checksum of LZ4 frames, xxHash32: a WebAssembly module, created when it is first needed. Its
 * memory grows to the longest input and never shrinks, so pass it portions.
 *
 * @throws StorageError `encoding`
 */
export async function loadXxhash(): Promise<XXHashAPI> {
  loaded ??= xxhash();
  try {
    return await loaded;
  } catch (cause) {
    loaded = undefined;
    throw new StorageError(
      "encoding",
      "reading and writing LZ4 needs WebAssembly, for its checksums",
      { cause },
    );
  }
}
