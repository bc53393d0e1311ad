import xxhash, { type XXHashAPI } from "xxhash-wasm";
import { contentDecoder } from "../../../src/content/compression/decompress.ts";
import fc from "fast-check";

const xxh: XXHashAPI = await xxhash();

/** The bytes decoded before the end or an error, and the error. */
export interface Decoded {
  readonly bytes: Uint8Array;
  readonly pieces: readonly Uint8Array[];
  readonly error?: unknown;
}

/** Decodes with the metadata that a writer of `enc` would have set. */
export async function decode(
  enc: string,
  encoded: AsyncIterable<Uint8Array> | Uint8Array,
  len: number,
): Promise<Decoded> {
  const decoder = contentDecoder({ enc, len });
  if (decoder === undefined) throw new Error("the metadata asks for no decoder");
  const pieces: Uint8Array[] = [];
  const source = encoded instanceof Uint8Array ? borrowed(encoded) : encoded;
  try {
    for await (const piece of decoder.decode(source)) pieces.push(piece);
    return { bytes: Buffer.concat(pieces), pieces };
  } catch (error) {
    return { bytes: Buffer.concat(pieces), pieces, error };
  }
}

/** Pieces of the given sizes, in turn, all in the same memory: each is overwritten by the next. */
export async function* borrowed(
  bytes: Uint8Array,
  sizes: readonly number[] = [bytes.length],
): AsyncGenerator<Uint8Array> {
  const memory = new Uint8Array(Math.max(...sizes));
  for (let offset = 0, turn = 0; offset < bytes.length; turn++) {
    const piece = bytes.subarray(offset, offset + sizes[turn % sizes.length]!);
    memory.set(piece);
    yield memory.subarray(0, piece.length);
    memory.fill(0xaa);
    offset += piece.length;
  }
}

/** Sizes for `borrowed`: they include empty pieces, but not only those. */
export const pieceSizes: fc.Arbitrary<number[]> = fc
  .array(fc.oneof(fc.nat(8), fc.nat(70_000)), { minLength: 1, maxLength: 6 })
  .filter((sizes) => sizes.some((size) => size > 0));

/** Content that has matches near and far, as well as stretches without any. */
export const content: fc.Arbitrary<Uint8Array> = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => ({ bytes, times: 1 })),
      fc.record({ bytes: fc.uint8Array({ minLength: 1, maxLength: 9 }), times: fc.nat(20_000) }),
    ),
    { maxLength: 8 },
  )
  .map((runs) =>
    Buffer.concat(runs.map(({ bytes, times }) => Buffer.alloc(bytes.length * times, bytes))),
  );

/** Bytes that look like text: compressible, and never the same twice in a row. */
export function prose(length: number): Uint8Array<ArrayBuffer> {
  const words = ["seal", "open", "a", "blob", "of", "the", "tree", "whose", "leaf", "is", "named"];
  let text = "";
  for (let state = 1; text.length < length;) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    text += `${words[(state >>> 16) % words.length]!} `;
    if ((state >>> 8) % 50 === 0) text += state;
  }
  return new TextEncoder().encode(text.slice(0, length));
}

export interface Lz4FrameParts {
  /** The blocks as they are in the frame; `stored` ones are not compressed. */
  readonly blocks: readonly { readonly bytes: Uint8Array; readonly stored?: boolean }[];
  /** The whole first byte of the descriptor; version 1 and independent blocks unless given. */
  readonly flags?: number;
  /** The whole second byte; blocks of 64 KiB unless given. */
  readonly blockMax?: number;
  /** The optional fields that follow, as the flags require. */
  readonly optional?: Uint8Array;
  readonly decoded?: Uint8Array;
}

/** Assembles an LZ4 frame from any fields, valid or not; only the checksums always match. */
export function lz4Frame({
  blocks,
  flags = 0x60,
  blockMax = 0x40,
  optional = new Uint8Array(0),
  decoded,
}: Lz4FrameParts): Uint8Array {
  const descriptor = Buffer.concat([Uint8Array.of(flags, blockMax), optional]);
  const parts = [
    uint32(0x184d2204),
    descriptor,
    Uint8Array.of((xxh.h32Raw(descriptor) >>> 8) & 0xff),
  ];
  for (const { bytes, stored } of blocks) {
    parts.push(uint32(bytes.length + (stored ? 2 ** 31 : 0)), bytes);
    if ((flags & 0x10) !== 0) parts.push(uint32(xxh.h32Raw(bytes)));
  }
  parts.push(uint32(0));
  if ((flags & 0x04) !== 0) parts.push(uint32(xxh.h32Raw(decoded ?? new Uint8Array(0))));
  return Buffer.concat(parts);
}

export function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}

export function hex(digits: string): Uint8Array {
  return new Uint8Array(Buffer.from(digits, "hex"));
}

/** The message of an error; anything else is returned unchanged, so that an expectation fails. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The content of the frames made by other encoders. */
export const SENTENCE: Uint8Array = new TextEncoder().encode(
  "a frame is a frame is a frame".repeat(3),
);

export const SENTENCE_FRAMES: Readonly<Record<"lz4" | "zstd", Uint8Array>> = {
  // Made by python-lz4 4.4.5, with a length, a checksum of the one block and one of the content.
  lz4: hex(
    "04224d187c405700000000000000a91e000000be61206672616d65206973200b000e12000728000f1d00055066" +
      "72616d65f07d37f100000000008fb133",
  ),
  // Made by backports.zstd 1.8.0 for Python, with a length and a checksum.
  zstd: hex("28b52ffd2457cd00005861206672616d65206973200500c000e0011850d303f68a17eca0cfa5"),
};
