import type { Attributes } from "../target/attributes.ts";
import type { PieceEncoding, PieceLocation } from "../../format/packs/piece.ts";
import { HASH_LENGTH } from "../../format/limits.ts";

/** A file for a thread to write: all of its content is one piece of the pack. */
export interface TableFile {
  /** The open folder that it goes into, which threads share. */
  readonly folder: number;
  readonly hasTemporaryNames: boolean;
  readonly name: Uint8Array;
  readonly hash: Uint8Array;
  /** Without extended attributes. */
  readonly attributes: Attributes;
  readonly piece: PieceLocation;
}

/** Files as three arrays, because a message of thousands of objects takes long to copy. */
export interface FileTable {
  readonly names: Uint8Array;
  readonly hashes: Uint8Array;
  readonly numbers: Float64Array;
}

const COLUMNS = 12;
const ENCODINGS: readonly PieceEncoding[] = ["raw", "lz4", "zstd"];

export function encodeTable(files: readonly TableFile[]): FileTable {
  const numbers = new Float64Array(COLUMNS * files.length);
  const hashes = new Uint8Array(HASH_LENGTH * files.length);
  for (const [
    at,
    { folder, hasTemporaryNames, name, hash, attributes, piece },
  ] of files.entries()) {
    const { mode, uid, gid, mtime } = attributes;
    const columns = [
      folder,
      hasTemporaryNames ? 1 : 0,
      name.length,
      mode,
      uid,
      gid,
      mtime.seconds,
      mtime.nanoseconds,
      piece.offset,
      piece.stored,
      piece.length,
      ENCODINGS.indexOf(piece.encoding),
    ];
    numbers.set(columns, COLUMNS * at);
    hashes.set(hash, HASH_LENGTH * at);
  }
  return { names: new Uint8Array(Buffer.concat(files.map(({ name }) => name))), hashes, numbers };
}

export function* decodeTable({ names, hashes, numbers }: FileTable): Generator<TableFile> {
  let nameAt = 0;
  for (let at = 0; at < numbers.length / COLUMNS; at += 1) {
    const column = (index: number): number => numbers[COLUMNS * at + index]!;
    const nameEnd = nameAt + column(2);
    yield {
      folder: column(0),
      hasTemporaryNames: column(1) === 1,
      name: names.subarray(nameAt, nameEnd),
      hash: hashes.subarray(HASH_LENGTH * at, HASH_LENGTH * (at + 1)),
      attributes: {
        mode: column(3),
        uid: column(4),
        gid: column(5),
        mtime: { seconds: column(6), nanoseconds: column(7) },
        extended: undefined,
      },
      piece: {
        offset: column(8),
        stored: column(9),
        length: column(10),
        encoding: ENCODINGS[column(11)]!,
      },
    };
    nameAt = nameEnd;
  }
}
