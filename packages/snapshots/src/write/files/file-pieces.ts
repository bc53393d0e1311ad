import type { Chunk, ReadFile } from "../../walk/read-file.ts";
import { type DataPacker, NewPiece } from "../packs/data-packer.ts";
import { type NewList, type PieceCollector, pieceCollector } from "./piece-lists.ts";
import type { Cache } from "../../cache/cache.ts";
import { PIECES_MAX, PIECE_MAX } from "../../format/limits.ts";
import { zeroBytes } from "../../format/zeros.ts";
import type { PlacedPiece } from "../../format/tree/encode-content.ts";
import { findPlace } from "../places.ts";
import { type Hashing, hash as sha256, onlyZeros, startHash } from "@idk/storage/blobs";

/** A file that was read. */
export interface FilePieces {
  readonly read: ReadFile;
  readonly content: readonly PlacedPiece[];
  readonly hash: Uint8Array;
}

export interface PieceSink {
  readonly cache: Cache;
  /** Undefined in a dry run: new pieces are only counted. */
  readonly packer: DataPacker | undefined;
  readonly isUsable: (pack: number) => boolean;
  /** Is told of each piece that no pack has. */
  readonly onNew: (bytes: number) => void;
  /** Takes each list, after the pieces in it. */
  readonly onList: (list: NewList) => void;
  /** Takes a piece of an attempt that was given up. */
  readonly onAbandoned: (piece: PlacedPiece) => void;
  /** Is called after each piece, so that others get their turn. */
  readonly pause: () => Promise<void> | undefined;
}

/** Cuts a file into pieces and holes, and adds the pieces that no pack has. */
export async function readPieces(
  chunks: Generator<Chunk, ReadFile>,
  sink: PieceSink,
): Promise<FilePieces> {
  /** What the file has so far that is in no list, and the lists. */
  let pieces: PlacedPiece[] = [];
  const onList = (list: NewList): void => {
    const listed = new Set(list.items);
    pieces = pieces.filter((piece) => !listed.has(piece));
    pieces.push(list);
    sink.onList(list);
  };
  /** Of a file of so many pieces that some are in lists. */
  let collector: PieceCollector | undefined;
  let hasher: Hashing | undefined;
  /** Of the only piece. */
  let only: Uint8Array | undefined;
  /** Zeros that are not known yet to be a hole. */
  let zeros = 0;

  const addPiece = (bytes: Uint8Array): void => {
    const hash = sha256(bytes);
    if (hasher === undefined) only = hash;
    add(pieceOf(hash, bytes, sink));
  };
  const add = (piece: PlacedPiece): void => {
    if (collector === undefined && pieces.length === PIECES_MAX) {
      collector = pieceCollector(onList);
      for (const early of pieces) collector.add(early);
    }
    collector?.add(piece);
    pieces.push(piece);
  };
  const addZeros = (): void => {
    if (zeros === 0) return;
    if (zeros < PIECE_MAX) addPiece(zeroBytes(zeros));
    else add({ pack: 0, offset: 0, stored: 0, length: zeros, encoding: 0 });
    zeros = 0;
  };
  const hashZeros = (length: number): void => {
    for (let left = length; left > 0; left -= PIECE_MAX) {
      hasher!.update(zeroBytes(Math.min(left, PIECE_MAX)));
    }
  };

  try {
    for (;;) {
      const next = chunks.next();
      if (next.done === true) {
        addZeros();
        const hash = hasher === undefined ? (only ?? sha256()) : new Uint8Array(hasher.digest());
        return { read: next.value, content: collector?.end() ?? pieces, hash };
      }
      const chunk = next.value;
      if (chunk.kind === "start") {
        for (const piece of pieces) sink.onAbandoned(piece);
        if (pieces.length > 0) pieces = [];
        [collector, hasher, only, zeros] = [undefined, undefined, undefined, 0];
        continue;
      }
      const length = chunk.kind === "hole" ? chunk.length : chunk.bytes.length;
      // Only a piece that is not the last of its file is as long as this.
      if (length >= PIECE_MAX) hasher ??= startHash();
      if (chunk.kind === "hole" || onlyZeros(chunk.bytes)) {
        if (hasher !== undefined) hashZeros(length);
        zeros += length;
      } else {
        hasher?.update(chunk.bytes);
        addZeros();
        addPiece(chunk.bytes);
      }
      const pause = sink.pause();
      if (pause !== undefined) await pause;
    }
  } catch (error) {
    for (const piece of pieces) sink.onAbandoned(piece);
    throw error;
  } finally {
    chunks.return?.({} as ReadFile);
  }
}

/** The piece of these bytes, which a pack may have. */
function pieceOf(hash: Uint8Array, bytes: Uint8Array, sink: PieceSink): PlacedPiece {
  const { cache, packer, isUsable } = sink;
  const waiting = packer?.find(hash);
  if (waiting !== undefined) return waiting;
  const known = findPlace(cache, "piece", hash, isUsable);
  if (known?.length === bytes.length) return known;
  sink.onNew(bytes.length);
  return packer?.add(hash, bytes) ?? new NewPiece(hash, bytes.length);
}
