import type { Attributes } from "../target/attributes.ts";
import { ByteWriter } from "../../format/tree/byte-writer.ts";
import { HASH_LENGTH } from "../../format/limits.ts";
import { PIECE_ENCODINGS, type PieceLocation } from "../../format/packs/piece.ts";
import type { Planned } from "../context.ts";
import type { TargetFolder } from "../target/target-folders.ts";

/** A file of one piece. */
export interface ShortFile extends Planned {
  readonly hash: Uint8Array;
  readonly piece: PieceLocation;
}

/** mode, uid, gid, both numbers of the time, piece, whether it replaces, group, end of the name. */
const COLUMNS = 12;
const NO_GROUP = -1;

/**
 * The files to write from one pack. Tens of thousands are planned before the first is written, so they
 * are kept as a few arrays: as objects, 32,768 of them take 10 to 15 MiB more.
 */
export class ShortFiles {
  readonly #parents: TargetFolder[] = [];
  readonly #numbers: number[] = [];
  /** The hash and then the name of each. */
  readonly #bytes = new ByteWriter(64);
  /** By index, of those that have some. */
  #extended: Map<number, Attributes["extended"]> | undefined;

  get length(): number {
    return this.#parents.length;
  }

  add({ parent, name, attributes, action, group, hash, piece }: ShortFile): void {
    const { mode, uid, gid, mtime, extended } = attributes;
    if (extended !== undefined) (this.#extended ??= new Map()).set(this.length, extended);
    this.#bytes.raw(hash);
    this.#bytes.raw(name);
    this.#parents.push(parent);
    this.#numbers.push(
      mode,
      uid,
      gid,
      mtime.seconds,
      mtime.nanoseconds,
      piece.offset,
      piece.stored,
      piece.length,
      PIECE_ENCODINGS.indexOf(piece.encoding),
      action === "replaced" ? 1 : 0,
      group ?? NO_GROUP,
      this.#bytes.length,
    );
  }

  /** @param index 0 to `length` - 1 */
  at(index: number): ShortFile {
    const column = (number: number): number => this.#numbers[COLUMNS * index + number]!;
    const start = index === 0 ? 0 : column(-1);
    const bytes = this.#bytes.view();
    const group = column(10);
    return {
      parent: this.#parents[index]!,
      name: bytes.slice(start + HASH_LENGTH, column(11)),
      attributes: {
        mode: column(0),
        uid: column(1),
        gid: column(2),
        mtime: { seconds: column(3), nanoseconds: column(4) },
        extended: this.#extended?.get(index),
      },
      action: column(9) === 1 ? "replaced" : "created",
      group: group === NO_GROUP ? undefined : group,
      hash: bytes.slice(start, start + HASH_LENGTH),
      piece: {
        offset: column(5),
        stored: column(6),
        length: column(7),
        encoding: PIECE_ENCODINGS[column(8)]!,
      },
    };
  }
}
