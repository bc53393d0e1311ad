import { ARRAY, ByteWriter, headLength } from "./byte-writer.ts";
import { type ContentItem, type NodeReference, type Place, decodePieceList } from "./content.ts";
import { LIST, PIECE_ENCODINGS } from "../packs/piece.ts";

/** Part of a file: a piece, a piece list, or, if its pack is 0, a hole. */
export interface PlacedPiece {
  /** A number of the pack, not that of its row, which is known only when it is written. */
  readonly pack: number;
  readonly offset: number;
  /** Bytes in the pack or, of a list, in the decoded frame. */
  readonly stored: number;
  /** Bytes of the file. */
  readonly length: number;
  /** 0 raw, 1 LZ4, 2 zstd, 3 a list. */
  readonly encoding: number;
}

/** Where a node lies. */
export interface PlacedNode {
  readonly pack: number;
  readonly offset: number;
  readonly length: number;
  /** Of its first entry. */
  readonly name: Uint8Array;
}

/** What an entry has as its content, by numbers of packs. */
export type Content =
  | { readonly kind: "pieces"; readonly pieces: readonly PlacedPiece[] }
  | { readonly kind: "nodes"; readonly nodes: readonly PlacedNode[] }
  /** The encoded item of an entry that is neither a file nor a folder. */
  | { readonly kind: "fixed"; readonly item: Uint8Array };

/** Row numbers have at most 16 bits, because that many rows do not fit a pack. */
const ROW_LENGTH_MAX = 3;

/** The bytes of encoded content, at most: as if every row number took the most. */
export function contentLengthMax(content: Content): number {
  if (content.kind === "fixed") return content.item.length;
  if (content.kind === "nodes") {
    let length = headLength(content.nodes.length);
    for (const { offset, length: bytes, name } of content.nodes) {
      const place = ROW_LENGTH_MAX + headLength(offset) + headLength(bytes);
      length += 1 + place + headLength(name.length) + name.length;
    }
    return length;
  }
  return piecesLengthMax(content.pieces);
}

/** The bytes of encoded pieces, at most. */
export function piecesLengthMax(pieces: readonly PlacedPiece[]): number {
  let length = headLength(pieces.length);
  for (const { pack, offset, stored, length: bytes } of pieces) {
    const place = pack === 0 ? 1 : ROW_LENGTH_MAX + headLength(offset) + headLength(stored) + 1;
    length += 1 + place + headLength(bytes);
  }
  return length;
}

/** The packs that content refers to, each once if neighbours have the same. */
export function packsOf(content: Content): number[] {
  if (content.kind === "fixed") return [];
  const places = content.kind === "nodes" ? content.nodes : content.pieces;
  const packs: number[] = [];
  for (const { pack } of places) if (pack !== 0 && pack !== packs.at(-1)) packs.push(pack);
  return packs;
}

/** @param rowOf the number of a pack's row in the pack that this is written to */
export function writeContent(
  into: ByteWriter,
  content: Content,
  rowOf: (pack: number) => number,
): void {
  if (content.kind === "fixed") {
    into.raw(content.item);
  } else if (content.kind === "pieces") {
    writePieces(into, content.pieces, rowOf);
  } else {
    into.head(ARRAY, content.nodes.length);
    for (const { pack, offset, length, name } of content.nodes) {
      into.head(ARRAY, 4);
      into.integer(rowOf(pack));
      into.integer(offset);
      into.integer(length);
      into.byteString(name);
    }
  }
}

/** Writes pieces as an entry or a piece list has them. */
export function writePieces(
  into: ByteWriter,
  pieces: readonly PlacedPiece[],
  rowOf: (pack: number) => number,
): void {
  into.head(ARRAY, pieces.length);
  for (const { pack, offset, stored, length, encoding } of pieces) {
    if (pack === 0) {
      into.head(ARRAY, 2);
      into.null();
      into.integer(length);
      continue;
    }
    into.head(ARRAY, 5);
    into.integer(rowOf(pack));
    into.integer(offset);
    into.integer(stored);
    into.integer(length);
    into.integer(encoding);
  }
}

/** Decoded content with numbers of packs, of which 0 is that of no pack. */
export function placedPieces(content: readonly ContentItem[]): PlacedPiece[] {
  return content.map((item) => {
    const { length } = item;
    if (item.kind === "hole") return { pack: 0, offset: 0, stored: 0, length, encoding: 0 };
    const { row, offset, stored } = item;
    const encoding = item.kind === "list" ? LIST : PIECE_ENCODINGS.indexOf(item.encoding);
    return { pack: row + 1, offset, stored, length, encoding };
  });
}

export function placedNodes(nodes: readonly NodeReference[]): PlacedNode[] {
  return nodes.map(({ row, offset, length, name }) => ({ pack: row + 1, offset, length, name }));
}

/** The row of a pack in what was decoded. */
export function rowOfNumber(pack: number): number {
  return pack - 1;
}

/**
 * Encodes a piece list, for the frame of a metadata pack.
 *
 * @param place where it is going to lie
 * @param levels how many levels of lists there are below: 0 or 1
 * @throws StorageError `tree` if a reader would refuse it
 */
export function encodePieceList(
  content: readonly ContentItem[],
  place: Place,
  levels: number,
): Uint8Array<ArrayBuffer> {
  const total = content.reduce((sum, { length }) => sum + length, 0);
  const into = new ByteWriter();
  writePieces(into, placedPieces(content), rowOfNumber);
  const bytes = into.view().slice();
  decodePieceList(bytes, total, place, levels);
  return bytes;
}
