import type { LongFile, LongFiles, LongPiece } from "./long-files.ts";
import type { Planned, RestoreContext } from "./context.ts";
import type { PackReader } from "../read/pack-reader.ts";
import type { PieceLocation } from "../format/packs/piece.ts";
import type { Row } from "../format/packs/row.ts";
import { StorageError } from "@idk/storage";
import { assertOfOne } from "./faults.ts";
import { createHash } from "node:crypto";
import { decodePiece } from "../format/packs/piece.ts";
import { equal } from "@idk/storage/blobs";
import { otherTurns } from "./content-hash.ts";
import { throwIfAborted } from "../read/aborted.ts";
import { writeWhole } from "./write-file.ts";

/** A file of one piece. */
export interface ShortFile extends Planned {
  readonly hash: Uint8Array;
}

/** What is written from packs, grouped by pack, so that each is fetched once. */
export interface Window {
  addShort(file: ShortFile, row: Row, piece: PieceLocation): void;
  addLong(piece: LongPiece, row: Row, location: PieceLocation): void;
  /** Pieces in it. */
  readonly length: number;
  /** Fetches all packs and writes all pieces. Empty afterwards. */
  flush(): Promise<void>;
}

interface Pack {
  readonly row: Row;
  readonly short: { readonly file: ShortFile; readonly piece: PieceLocation }[];
  readonly long: { readonly to: LongPiece; readonly piece: PieceLocation }[];
}

/** Packs that are fetched at once, each up to 4 MiB. */
const AHEAD = 6;

type Outcome = { readonly plaintext: Uint8Array } | { readonly error: unknown };

/** @param fail is called with a file that cannot be restored */
export function fetchWindow(
  context: RestoreContext,
  packs: PackReader,
  longs: LongFiles,
  done: (file: ShortFile) => void,
  fail: (file: Planned | LongFile, error: unknown) => void,
): Window {
  const { signal } = context;
  let waiting = new Map<string, Pack>();
  let length = 0;
  /** The last pack of a window is mostly the first of the next. */
  let last: { readonly row: Row; readonly outcome: Outcome } | undefined;

  const packOf = (row: Row): Pack => {
    let pack = waiting.get(row.address);
    if (pack !== undefined && !isSameRow(pack.row, row)) {
      // Only a malformed repository has one pack under two keys; one of them does not open it.
      pack = waiting.get(keyOf(row));
      if (pack === undefined) waiting.set(keyOf(row), (pack = { row, short: [], long: [] }));
    } else if (pack === undefined) {
      waiting.set(row.address, (pack = { row, short: [], long: [] }));
    }
    length += 1;
    return pack;
  };

  const fetchPack = async (row: Row): Promise<Outcome> => {
    if (last !== undefined && isSameRow(last.row, row)) return last.outcome;
    try {
      return { plaintext: await packs.data(row, signal) };
    } catch (error) {
      return { error };
    }
  };

  const writeShort = (file: ShortFile, piece: PieceLocation, outcome: Outcome): void => {
    try {
      if ("error" in outcome) throw outcome.error;
      const content = decodePiece(outcome.plaintext, piece);
      if (!equal(createHash("sha256").update(content).digest(), file.hash)) {
        throw new StorageError("tree", "its content is not that of its hash");
      }
      writeWhole(context, file, content);
      done(file);
    } catch (error) {
      assertOfOne(error);
      fail(file, error);
    }
  };

  const writeLong = async (
    to: LongPiece,
    piece: PieceLocation,
    outcome: Outcome,
  ): Promise<void> => {
    const { file } = to;
    file.pending -= 1;
    if (file.isFailed) return;
    try {
      if ("error" in outcome) throw outcome.error;
      await longs.write(to, decodePiece(outcome.plaintext, piece));
      if (!file.isComplete || file.pending > 0) return;
      await longs.finish(file);
      done(file);
    } catch (error) {
      assertOfOne(error);
      fail(file, error);
    }
  };

  return {
    addShort(file, row, piece) {
      packOf(row).short.push({ file, piece });
    },
    addLong(to, row, piece) {
      to.file.pending += 1;
      packOf(row).long.push({ to, piece });
    },
    get length() {
      return length;
    },
    async flush() {
      const all = [...waiting.values()];
      waiting = new Map();
      length = 0;
      const fetching: Promise<Outcome>[] = [];
      try {
        for (const [at, { row, short, long }] of all.entries()) {
          while (fetching.length < AHEAD && at + fetching.length < all.length) {
            fetching.push(fetchPack(all[at + fetching.length]!.row));
          }
          const outcome = await fetching.shift()!;
          throwIfAborted(signal);
          last = { row, outcome };
          for (const { file, piece } of short) writeShort(file, piece, outcome);
          for (const { to, piece } of long) await writeLong(to, piece, outcome);
          await otherTurns(signal);
        }
      } finally {
        await Promise.all(fetching);
      }
    },
  };
}

function isSameRow(a: Row, b: Row): boolean {
  if (a === b) return true;
  return a.address === b.address && a.session === b.session && equal(a.salt, b.salt);
}

function keyOf({ address, session, salt }: Row): string {
  return `${address}:${session}:${Buffer.from(salt).toString("hex")}`;
}
