import { FRAME_DECODED_MAX, METADATA_PACK, ROW_LENGTH, ZSTD_WINDOW_LOG_MAX } from "../limits.ts";
import { decoding, malformed } from "../checks.ts";
import { decodeZstdFrame, onlyZeros } from "@idk/storage/blobs";

/** The length of a number in a metadata pack. */
const U32 = 4;

/** What a metadata pack holds. */
export interface MetadataPack {
  /** How many rows it has, with row 0, which stands for the pack itself. */
  readonly rowCount: number;
  /**
   * The row of this number, 64 bytes, a view.
   *
   * @param index from 1 to `rowCount` − 1
   */
  row(index: number): Uint8Array;
  /** The decoded frame: nodes and piece lists one after the other. */
  readonly frame: Uint8Array;
}

/** The bytes in use in a metadata pack with this many rows, row 0 included, and a frame of this length. */
export function metadataPackLength(rowCount: number, frameLength: number): number {
  return U32 + ROW_LENGTH * rowCount + U32 + frameLength;
}

/**
 * Encodes the plaintext of a metadata pack.
 *
 * @param rows of 64 bytes, without row 0: the first is number 1
 * @param frame one zstd frame
 * @param length of the plaintext, as of `packLength`
 */
export function encodeMetadataPack(
  rows: readonly Uint8Array[],
  frame: Uint8Array,
  length: number,
): Uint8Array<ArrayBuffer> {
  const used = metadataPackLength(rows.length + 1, frame.length);
  if (used > length || length > METADATA_PACK) {
    throw new RangeError(`${used} bytes do not fit a metadata pack of ${length}`);
  }
  const plaintext = new Uint8Array(length);
  const view = new DataView(plaintext.buffer);
  view.setUint32(0, rows.length + 1);
  let at = U32 + ROW_LENGTH;
  for (const row of rows) {
    if (row.length !== ROW_LENGTH) throw new RangeError(`a row has ${ROW_LENGTH} bytes`);
    plaintext.set(row, at);
    at += ROW_LENGTH;
  }
  view.setUint32(at, frame.length);
  plaintext.set(frame, at + U32);
  return plaintext;
}

/**
 * Decodes the plaintext of a metadata pack. Holds at most 4 MiB more than the plaintext.
 *
 * @throws StorageError `tree`
 */
export function decodeMetadataPack(plaintext: Uint8Array): MetadataPack {
  return decoding("tree", "the metadata pack", () => {
    if (plaintext.length > METADATA_PACK) {
      throw malformed(`it has ${plaintext.length} bytes, at most ${METADATA_PACK} are allowed`);
    }
    const view = new DataView(plaintext.buffer, plaintext.byteOffset, plaintext.byteLength);
    if (plaintext.length < U32) throw malformed("it is cut short");
    const rowCount = view.getUint32(0);
    if (rowCount === 0) throw malformed("it has no row for itself");
    const rowsEnd = U32 + ROW_LENGTH * rowCount;
    if (rowsEnd + U32 > plaintext.length) throw malformed("its rows are cut short");
    if (!onlyZeros(plaintext.subarray(U32, U32 + ROW_LENGTH))) {
      throw malformed("its row 0 is not zero");
    }
    const frameStart = rowsEnd + U32;
    const frameEnd = frameStart + view.getUint32(rowsEnd);
    if (frameEnd > plaintext.length) throw malformed("its frame is cut short");
    if (!onlyZeros(plaintext.subarray(frameEnd))) throw malformed("its padding is not zero");
    const frame = decodeZstdFrame(plaintext.subarray(frameStart, frameEnd), {
      maxLength: FRAME_DECODED_MAX,
      maxWindowLog: ZSTD_WINDOW_LOG_MAX,
    });
    return {
      rowCount,
      row(index) {
        if (!Number.isInteger(index) || index < 1 || index >= rowCount) {
          throw new RangeError(`there is no row ${index}`);
        }
        const start = U32 + ROW_LENGTH * index;
        return plaintext.subarray(start, start + ROW_LENGTH);
      },
      frame,
    };
  });
}
