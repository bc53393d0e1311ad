import type { CborItem } from "@idk/storage/blobs";
import {
  DATA_PACK,
  ENTRY_NAME_MAX,
  FRAME_DECODED_MAX,
  LIST_LEVELS_MAX,
  PIECES_MAX,
  PIECE_MAX,
} from "../limits.ts";
import { array, byteString, decodedItem, decoding, malformed, tuple, uint } from "../checks.ts";
import { LIST, PIECE_ENCODINGS, type PieceEncoding } from "../packs/piece.ts";

/** Consecutive bytes of a file, in a data pack. */
export interface Piece {
  readonly kind: "piece";
  /** The number of the pack's row, not 0. */
  readonly row: number;
  /** In the pack's plaintext. */
  readonly offset: number;
  /** Bytes in the pack, 1 to `length`. */
  readonly stored: number;
  /** Bytes of the file, 1 to 2^20. */
  readonly length: number;
  readonly encoding: PieceEncoding;
}

/** Consecutive zeros of a file, which are stored nowhere. */
export interface Hole {
  readonly kind: "hole";
  readonly length: number;
}

/** Where more pieces, holes and lists of a file are listed, in the frame of a metadata pack. */
export interface PieceList {
  readonly kind: "list";
  /** The number of the pack's row; 0 is the pack that this lies in. */
  readonly row: number;
  /** In the decoded frame. */
  readonly offset: number;
  /** Bytes in the decoded frame. */
  readonly stored: number;
  /** Bytes of the file that what it lists has together. */
  readonly length: number;
}

export type ContentItem = Piece | Hole | PieceList;

/**
 * Where a node or list lies that refers to rows: within its own pack it refers only to what ends before
 * it begins, so that there are no cycles.
 */
export interface Place {
  /** The offset at which it begins in the decoded frame. */
  readonly start: number;
  /** Rows of its pack, row 0 included. */
  readonly rowCount: number;
}

/**
 * Decodes the pieces, holes and lists of a file.
 *
 * @param total bytes that they have together
 * @param place where they are listed
 * @param levels how many levels of lists there may be below
 */
export function decodeContent(
  item: CborItem | undefined,
  total: number,
  place: Place,
  levels: number,
): ContentItem[] {
  const items = array(item, "a file's content", PIECES_MAX);
  const content: ContentItem[] = [];
  let sum = 0;
  for (const inner of items) {
    const decoded = decodeContentItem(inner, place, levels);
    sum += decoded.length;
    content.push(decoded);
  }
  // Sums of 4096 integers below 2^53 may be inexact, but then they are far too large.
  if (sum !== total) throw malformed(`a file's content has ${sum} bytes instead of ${total}`);
  return content;
}

function decodeContentItem(item: CborItem, place: Place, levels: number): ContentItem {
  const fields = array(item, "an item of a file's content", 5);
  if (fields[0] === null) {
    tuple(item, "a hole", 2);
    return { kind: "hole", length: positive(fields[1], "the length of a hole") };
  }
  tuple(item, "a piece", 5);
  const encoding = uint(fields[4], "the encoding of a piece", LIST);
  const [row, offset, stored, length] = [
    uint(fields[0], "the row of a piece", place.rowCount - 1),
    uint(fields[1], "the offset of a piece"),
    positive(fields[2], "the stored length of a piece"),
    positive(fields[3], "the length of a piece"),
  ];
  if (encoding === LIST) {
    if (levels === 0) throw malformed("piece lists are nested too deep");
    const list: PieceList = { kind: "list", row, offset, stored, length };
    checkFrameRange(list, place);
    return list;
  }
  const piece: Piece = {
    kind: "piece",
    row,
    offset,
    stored,
    length,
    encoding: PIECE_ENCODINGS[encoding]!,
  };
  checkPiece(piece);
  return piece;
}

function checkPiece({ row, offset, stored, length, encoding }: Piece): void {
  if (row === 0) throw malformed("a piece is said to lie in a metadata pack");
  if (length > PIECE_MAX) throw malformed(`a piece is longer than ${PIECE_MAX} bytes`);
  if (stored > length) throw malformed("a piece is longer as stored than it is");
  if (encoding === "raw" && stored !== length) throw malformed("a raw piece has two lengths");
  if (offset + stored > DATA_PACK) throw malformed("a piece lies beyond the end of its pack");
}

function checkFrameRange(
  {
    row,
    offset,
    stored,
  }: { readonly row: number; readonly offset: number; readonly stored: number },
  place: Place,
): void {
  if (offset + stored > FRAME_DECODED_MAX) {
    throw malformed("a node or list lies beyond the end of its frame");
  }
  if (row === 0 && offset + stored > place.start) {
    throw malformed("a reference within a pack is not to what lies before it");
  }
}

function positive(item: CborItem | undefined, what: string): number {
  const value = uint(item, what);
  if (value === 0) throw malformed(`${what} is 0`);
  return value;
}

/**
 * Decodes a piece list.
 *
 * @param total bytes of the file, as what refers to it announces
 * @param place where it lies
 * @param levels how many levels of lists there may be below: 1 for a list that a file's entry refers
 *   to, 0 for one that a list refers to
 * @throws StorageError `tree`
 */
export function decodePieceList(
  bytes: Uint8Array,
  total: number,
  place: Place,
  levels: number,
): ContentItem[] {
  return decoding("tree", "the piece list", () => {
    const content = decodeContent(decodedItem(bytes, FRAME_DECODED_MAX), total, place, levels);
    if (content.length === 0) throw malformed("it is empty");
    return content;
  });
}

/** The levels of lists below a file's entry. */
export const ENTRY_LEVELS: number = LIST_LEVELS_MAX;

/** Where one of the nodes of a directory lies. */
export interface NodeReference {
  /** The number of the pack's row; 0 is the pack that this lies in. */
  readonly row: number;
  /** In the decoded frame. */
  readonly offset: number;
  /** Bytes in the decoded frame. */
  readonly length: number;
  /** The name of the node's first entry. */
  readonly name: Uint8Array;
}

/** Decodes the nodes of a directory, in the order of their names. */
export function decodeNodeReferences(item: CborItem | undefined, place: Place): NodeReference[] {
  const references: NodeReference[] = [];
  let previous: Uint8Array | undefined;
  for (const inner of array(item, "the nodes of a directory")) {
    const fields = tuple(inner, "a reference to a node", 4);
    const row = uint(fields[0], "the row of a node", place.rowCount - 1);
    const offset = uint(fields[1], "the offset of a node");
    const length = positive(fields[2], "the length of a node");
    checkFrameRange({ row, offset, stored: length }, place);
    const name = entryName(fields[3]);
    if (previous !== undefined && Buffer.compare(previous, name) >= 0) {
      throw malformed("the nodes of a directory are out of order");
    }
    previous = name;
    references.push({ row, offset, length, name });
  }
  return references;
}

const SLASH = 0x2f;
const DOT = 0x2e;

/** The name of an entry: bytes as the file system has them, never normalised. */
export function entryName(item: CborItem | undefined): Uint8Array {
  const name = byteString(item, "a name");
  if (name.length === 0 || name.length > ENTRY_NAME_MAX) {
    throw malformed(`a name has ${name.length} bytes instead of 1 to ${ENTRY_NAME_MAX}`);
  }
  if (name.includes(SLASH) || name.includes(0))
    throw malformed("a name has a slash or a zero byte");
  if (name[0] === DOT && (name.length === 1 || (name.length === 2 && name[1] === DOT))) {
    throw malformed('a name is "." or ".."');
  }
  return name;
}
