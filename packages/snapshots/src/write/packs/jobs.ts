import { CHILD_OVERHEAD, encodeZstdFrame, openChild, sealChild } from "@idk/storage/blobs";
import { type NaCl, StorageError } from "@idk/storage";
import { decodeMetadataPack } from "../../format/packs/metadata-pack.ts";
import { decodeNode } from "../../format/tree/node.ts";
import { decodePieceList } from "../../format/tree/content.ts";
import { PIECE_ENCODINGS, type PieceEncoding, savesEnough } from "../../format/packs/piece.ts";

/** The encodings that compress. */
export type Codec = Exclude<PieceEncoding, "raw">;

/** Compresses a whole piece. */
export type Compress = (bytes: Uint8Array) => Uint8Array;

/** What became of the pieces of a batch. */
export interface CompressedBatch {
  /** Bytes of each as stored. They lie one after the other from the beginning of the buffer. */
  readonly stored: Uint32Array;
  /** 0 if it is stored raw. */
  readonly encodings: Uint8Array;
}

/**
 * Compresses pieces that lie one after the other, each where it saves an eighth, and moves them
 * together in the same buffer: a stored piece is never longer than the piece.
 */
export function compressBatch(
  buffer: Uint8Array,
  lengths: Uint32Array,
  codec: Codec,
  compress: Compress,
): CompressedBatch {
  const stored = new Uint32Array(lengths.length);
  const encodings = new Uint8Array(lengths.length);
  let [from, to] = [0, 0];
  for (let index = 0; index < lengths.length; index += 1) {
    const length = lengths[index]!;
    const piece = buffer.subarray(from, from + length);
    from += length;
    const compressed = looksRandom(piece) ? piece : compress(piece);
    if (savesEnough(compressed.length, length)) {
      buffer.set(compressed, to);
      stored[index] = compressed.length;
      encodings[index] = PIECE_ENCODINGS.indexOf(codec);
    } else {
      buffer.copyWithin(to, piece.byteOffset - buffer.byteOffset, from);
      stored[index] = length;
    }
    to += stored[index]!;
  }
  return { stored, encodings };
}

export function zstdCompress(bytes: Uint8Array): Uint8Array {
  return encodeZstdFrame(bytes);
}

const SAMPLE = 4096;
const WINDOWS = 4;
/** Bits of each byte: what has more saves at most a fortieth, unless it repeats itself. */
const RANDOM_BITS = 7.8;
const counts = new Uint32Array(256);

/**
 * Whether bytes are compressed or encrypted already, by how often each value is in a sample. Trying to
 * compress them takes several times as long.
 */
function looksRandom(bytes: Uint8Array): boolean {
  if (bytes.length < SAMPLE) return false;
  counts.fill(0);
  const window = SAMPLE / WINDOWS;
  for (let part = 0; part < WINDOWS; part += 1) {
    const start = Math.floor(((bytes.length - window) * part) / (WINDOWS - 1));
    for (let at = start; at < start + window; at += 1) counts[bytes[at]!]! += 1;
  }
  let bits = 0;
  // Iterators of typed arrays take longer than what is done here.
  for (let value = 0; value < 256; value += 1) {
    const count = counts[value]!;
    if (count > 0) bits -= count * Math.log2(count / SAMPLE);
  }
  return bits > RANDOM_BITS * SAMPLE;
}

/** A pack to seal. */
export interface SealTask {
  readonly contentKey: Uint8Array;
  /** Has the plaintext behind `CHILD_OVERHEAD` bytes, and then the blob. */
  readonly blob: Uint8Array;
  /** Whether to open the blob and compare it with the plaintext. */
  readonly verify: boolean;
  /** What the frame of a metadata pack has, which is decoded then, too. */
  readonly parts?: readonly FramePart[] | undefined;
}

/** A node or piece list in the decoded frame of a metadata pack. */
export interface FramePart {
  readonly offset: number;
  readonly length: number;
  /** Of a list: the bytes of the file that it lists, and the levels of lists below it. */
  readonly list: { readonly total: number; readonly levels: number } | undefined;
}

/** The plaintext as it was, and as it comes out. */
const [before, opened] = [{ bytes: new Uint8Array(0) }, { bytes: new Uint8Array(0) }];

function scratch(of: { bytes: Uint8Array }, length: number): Uint8Array {
  if (of.bytes.length < length) of.bytes = new Uint8Array(length);
  return of.bytes.subarray(0, length);
}

/** Frees the memory that sealing keeps for the next pack, where threads do it from now on. */
export function forgetScratch(): void {
  for (const each of [before, opened]) each.bytes = new Uint8Array(0);
}

/**
 * Seals a pack in place, and opens it again: what a defect of the memory or the processor has changed
 * must not become the only copy. Nor must metadata that no reader takes, which names what nothing else
 * does.
 *
 * @param freeMemory is called often while metadata is decoded
 * @returns the address
 * @throws StorageError `unavailable` if what was sealed is not what comes out, or malformed
 */
export function sealVerified(
  naCl: NaCl,
  { contentKey, blob, verify, parts }: SealTask,
  freeMemory: () => void,
): string {
  const plaintext = blob.subarray(CHILD_OVERHEAD);
  if (!verify) return sealChild(naCl, { kind: "leaf", contentKey, plaintext, blob });
  const wanted = scratch(before, plaintext.length);
  wanted.set(plaintext);
  const address = sealChild(naCl, { kind: "leaf", contentKey, plaintext, blob });
  const into = scratch(opened, plaintext.length);
  let result: Uint8Array | undefined;
  try {
    result = openChild(naCl, { kind: "leaf", contentKey, blob, into });
  } catch {
    // As if it were another.
  }
  if (result === undefined || Buffer.compare(result, wanted) !== 0) {
    throw new StorageError(
      "unavailable",
      "a pack could not be opened after it was sealed, and was not stored: the memory or processor of " +
        "this host is faulty; test its memory, and back up again",
    );
  }
  if (parts !== undefined) checkMetadata(result, parts, freeMemory);
  return address;
}

function checkMetadata(
  plaintext: Uint8Array,
  parts: readonly FramePart[],
  freeMemory: () => void,
): void {
  try {
    const { frame, rowCount } = decodeMetadataPack(plaintext);
    for (const { offset, length, list } of parts) {
      const bytes = frame.subarray(offset, offset + length);
      const place = { start: offset, rowCount };
      if (list === undefined) decodeNode(bytes, place);
      else decodePieceList(bytes, list.total, place, list.levels);
      // Decoded entries take many times their bytes.
      freeMemory();
    }
  } catch (cause) {
    if (!(cause instanceof StorageError)) throw cause;
    throw new StorageError(
      "unavailable",
      `a metadata pack was not stored, because no reader would take it: ${cause.message}. The cache ` +
        "of this host is damaged, or its memory: without the cache, a backup sends everything again",
      { cause },
    );
  }
}

/** The plaintext in the buffer of a pack. */
export function plaintextIn(blob: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return blob.subarray(CHILD_OVERHEAD);
}

/** The bytes of the blob of a pack. */
export function blobLength(plaintextLength: number): number {
  return plaintextLength + CHILD_OVERHEAD;
}
