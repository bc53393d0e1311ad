import { decodeLz4Block, decodeZstdFrame } from "@idk/storage/blobs";
import { decoding, malformed } from "../checks.ts";
import { ZSTD_WINDOW_LOG_MAX } from "../limits.ts";

/** By the number in the format. */
export const PIECE_ENCODINGS = ["raw", "lz4", "zstd"] as const;

/** How a piece is stored in a data pack. */
export type PieceEncoding = (typeof PIECE_ENCODINGS)[number];

/** What a piece list has in place of an encoding. */
export const LIST = 3;

/** Where the bytes of a piece are in a data pack. */
export interface PieceLocation {
  /** In the pack's plaintext. */
  readonly offset: number;
  /** Bytes in the pack. */
  readonly stored: number;
  /** Bytes of the file. */
  readonly length: number;
  readonly encoding: PieceEncoding;
}

/** Whether compression is worth it: it saves an eighth. */
export function savesEnough(stored: number, length: number): boolean {
  return stored <= length - length / 8;
}

/**
 * The bytes of a file that a piece holds.
 *
 * @param pack the plaintext of a data pack
 * @returns exactly `length` bytes; of a raw piece a view of the pack
 * @throws StorageError `tree` if the piece does not lie in the pack, or does not decode to exactly its
 *   length
 */
export function decodePiece(pack: Uint8Array, piece: PieceLocation): Uint8Array {
  return decoding("tree", "a piece", () => {
    const { offset, stored, length, encoding } = piece;
    if (stored > pack.length - offset) throw malformed("it does not lie in its pack");
    const bytes = pack.subarray(offset, offset + stored);
    const decoded = DECODE[encoding](bytes, length);
    if (decoded.length !== length) {
      throw malformed(`it decodes to ${decoded.length} bytes instead of ${length}`);
    }
    return decoded;
  });
}

const DECODE: Readonly<Record<PieceEncoding, (bytes: Uint8Array, length: number) => Uint8Array>> = {
  raw: (bytes) => bytes,
  lz4(block, length) {
    const decoded = new Uint8Array(length);
    decodeLz4Block(block, decoded);
    return decoded;
  },
  zstd: (frame, length) =>
    decodeZstdFrame(frame, { maxLength: length, maxWindowLog: ZSTD_WINDOW_LOG_MAX }),
};
