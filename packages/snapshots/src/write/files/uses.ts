import { LIST } from "../../format/packs/piece.ts";
import type { PlacedPiece } from "../../format/tree/encode-content.ts";
import { decodePieces, encodeValue, everyPiece } from "../tree/record-value.ts";
import type { Cache } from "../../cache/cache.ts";
import { NewList } from "./piece-lists.ts";
import { NewPiece } from "../packs/data-packer.ts";

/** Notes that a file or list has a piece. What a list has is counted when it gets its place. */
export function countUse(cache: Cache, piece: PlacedPiece): void {
  if (piece.pack === 0 || piece instanceof NewList) return;
  // Noting a piece counted the first that has it.
  if (piece instanceof NewPiece && !piece.isCounted) piece.isCounted = true;
  else cache.use(piece, 1);
}

/** Notes that nothing has a piece or list of an attempt to read a file that was given up. */
export function abandon(cache: Cache, piece: PlacedPiece): void {
  if (piece instanceof NewPiece && !piece.isCounted) {
    piece.isCounted = true;
    cache.use(piece, -1);
  } else if (piece instanceof NewList) {
    const value = encodeValue({ ...NOBODY, content: { kind: "pieces", pieces: [piece] } });
    dropUses(cache, value);
  }
}

const NOBODY = { uid: 0, gid: 0, links: undefined, after: new Uint8Array(0) };

/**
 * Notes that a file does not have its pieces and lists any more.
 *
 * @param value of its record
 */
export function dropUses(cache: Cache, value: Uint8Array): void {
  everyPlace(cache, value, (pack, offset) => {
    cache.use({ pack, offset }, -1);
    return true;
  });
}

/**
 * Calls back for each piece and list of a file, also for those in lists.
 *
 * @param value of its record
 * @returns false as soon as the callback does, or if the cache does not know what a list has
 */
export function everyPlace(
  cache: Cache,
  value: Uint8Array,
  each: (pack: number, offset: number, stored: number) => boolean,
): boolean {
  return everyPiece(
    value,
    (pack, offset, stored, isList) =>
      each(pack, offset, stored) && (!isList || everyInList(cache, pack, offset, each)),
  );
}

function everyInList(
  cache: Cache,
  pack: number,
  offset: number,
  each: (pack: number, offset: number, stored: number) => boolean,
): boolean {
  const items = cache.listAt(pack, offset);
  if (items === undefined) return false;
  return decodePieces(items).every((piece) => {
    if (piece.pack === 0) return true;
    if (!each(piece.pack, piece.offset, piece.stored)) return false;
    return piece.encoding !== LIST || everyInList(cache, piece.pack, piece.offset, each);
  });
}
