import {
  type PlacedPiece,
  piecesLengthMax,
  writePieces,
} from "../../format/tree/encode-content.ts";
import { LIST } from "../../format/packs/piece.ts";
import type { Cache } from "../../cache/cache.ts";
import type { MetadataPacker } from "../packs/metadata-packer.ts";
import { PIECES_MAX } from "../../format/limits.ts";
import { addPlace, findPlace } from "../places.ts";
import { encodePieces } from "../tree/record-value.ts";
import { hash as sha256 } from "@idk/storage/blobs";

/** A piece list of this session, which gets its place when all that it lists has one. */
export class NewList implements PlacedPiece {
  pack = -1;
  offset = 0;
  stored = 0;
  readonly encoding = LIST;
  readonly length: number;
  /** Forgotten once the list has its place. */
  items: readonly PlacedPiece[];

  constructor(items: readonly PlacedPiece[]) {
    this.items = items;
    this.length = items.reduce((sum, { length }) => sum + length, 0);
  }
}

/** Collects the pieces and holes of a file, and puts those of a large one into lists. */
export interface PieceCollector {
  add(piece: PlacedPiece): void;
  /** What the file's entry has: at most 4,096 items. */
  end(): PlacedPiece[];
}

/** @param onList takes each list that is complete, those that it lists before it */
export function pieceCollector(onList: (list: NewList) => void): PieceCollector {
  // Pieces, lists of them, and lists of those: enough for 64 PiB.
  const levels: PlacedPiece[][] = [[], [], []];
  const push = (level: number, item: PlacedPiece): void => {
    const items = levels[level];
    if (items === undefined) throw new RangeError("a file has too many pieces");
    if (items.length === PIECES_MAX) wrap(level);
    levels[level]!.push(item);
  };
  const wrap = (level: number): void => {
    const list = new NewList(levels[level]!);
    levels[level] = [];
    onList(list);
    push(level + 1, list);
  };
  return {
    add: (piece) => push(0, piece),
    end() {
      for (const level of [0, 1]) {
        const isAboveEmpty = levels.slice(level + 1).every((items) => items.length === 0);
        if (isAboveEmpty) return levels[level]!;
        if (levels[level]!.length > 0) wrap(level);
      }
      return levels[2]!;
    },
  };
}

/** Stores a list, unless a pack has the same one already. */
export function placeList(
  list: NewList,
  cache: Cache,
  metadata: MetadataPacker,
  isUsable: (pack: number) => boolean,
): void {
  const items = encodePieces(list.items);
  const hash = sha256(items);
  const known = findPlace(cache, "list", hash, isUsable);
  if (known !== undefined) {
    list.pack = known.pack;
    list.offset = known.offset;
    list.stored = known.stored;
    cache.use(list, 1);
    return;
  }
  const packs = list.items.flatMap(({ pack }) => (pack === 0 ? [] : [pack]));
  const levels = list.items.some(({ encoding }) => encoding === LIST) ? 1 : 0;
  const place = metadata.add(
    piecesLengthMax(list.items),
    packs,
    (into, rowOf) => writePieces(into, list.items, rowOf),
    { total: list.length, levels },
  );
  list.pack = place.pack;
  list.offset = place.offset;
  list.stored = place.length;
  addPlace(cache, "list", hash, list, items);
}
