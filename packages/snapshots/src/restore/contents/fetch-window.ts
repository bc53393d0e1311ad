import type { LongFile, LongFiles, LongPiece } from "./long-files.ts";
import type { Planned, RestoreContext } from "../context.ts";
import { type TableFile, encodeTable } from "../threads/file-table.ts";
import type { Folder } from "../../files/host.ts";
import { DATA_PACK } from "../../format/limits.ts";
import { PACK_BLOB_MAX } from "../../format/packs/pack.ts";
import type { PackReader } from "../../read/pack-reader.ts";
import type { PieceLocation } from "../../format/packs/piece.ts";
import type { Row } from "../../format/packs/row.ts";
import { assertOfOne } from "../faults.ts";
import { decodePiece } from "../../format/packs/piece.ts";
import { equal } from "@idk/storage/blobs";
import { errorOfThread } from "../threads/pool.ts";
import { type ShortFile, ShortFiles } from "./short-files.ts";
import { otherTurns } from "./content-hash.ts";
import { throwIfAborted } from "../../read/aborted.ts";
import { writePiece } from "./write-file.ts";

/** What is written from packs, grouped by pack, so that each is fetched once. */
export interface Window {
  addShort(file: ShortFile, row: Row): void;
  addLong(piece: LongPiece, row: Row, location: PieceLocation): void;
  /** Pieces in it. */
  readonly length: number;
  /** Fetches all packs and writes all pieces. Empty afterwards. */
  flush(): Promise<void>;
}

interface Pack {
  readonly row: Row;
  readonly short: ShortFiles;
  readonly long: { readonly to: LongPiece; readonly piece: PieceLocation }[];
}

/** Of `PACK_BLOB_MAX` bytes. */
type PackBuffer = Uint8Array<ArrayBuffer>;

/** An opened pack, or why there is none, and files of it that a thread has written. */
interface Outcome {
  readonly plaintext?: Uint8Array;
  /** What the plaintext lies in. */
  readonly buffer?: PackBuffer;
  readonly error?: unknown;
  /** By index, with an error for each that could not be. */
  readonly written: ReadonlyMap<number, Error | undefined>;
}

/** Packs that are fetched and written at once, each up to 4 MiB. */
const AHEAD = 4;
/** Fewer packs are opened sooner than threads are started. */
const PACKS_FOR_THREADS = 8;
/** Bytes of content that take so many packs, unless much of it is the same or is compressed. */
export const BYTES_FOR_THREADS: number = PACKS_FOR_THREADS * DATA_PACK;
/** Folders that are kept open for one job. With `AHEAD` jobs and open long files, less than 1,024 are. */
const FOLDERS_FOR_THREAD = 128;
const NONE: ReadonlyMap<number, Error | undefined> = new Map();

/**
 * @param done is called with a file that is restored
 * @param fail is called with a file that cannot be
 */
export function fetchWindow(
  context: RestoreContext,
  packs: PackReader,
  longs: LongFiles,
  done: (file: Planned) => void,
  fail: (file: Planned | LongFile, error: unknown) => void,
): Window {
  const { folders, report, signal, threads } = context;
  let waiting = new Map<string, Pack>();
  let length = 0;
  let usesThreads = false;
  /** The last pack of a window is mostly the first of the next. */
  let last: { readonly row: Row; readonly outcome: Outcome } | undefined;
  /** Used again and again: the collector of garbage is late with memory that is not its own. */
  const buffers: PackBuffer[] = [];

  const keep = (row: Row, outcome: Outcome): void => {
    const old = last?.outcome.buffer;
    if (old !== undefined && old !== outcome.buffer) buffers.push(old);
    last = { row, outcome: { ...outcome, written: NONE } };
  };

  const packOf = (row: Row): Pack => {
    let key: string = row.address;
    let pack = waiting.get(key);
    if (pack !== undefined && !isSameRow(pack.row, row)) {
      // Only a malformed repository has one pack under two keys; one of them does not open it.
      key = `${row.address}:${row.session}:${Buffer.from(row.salt).toString("hex")}`;
      pack = waiting.get(key);
    }
    if (pack === undefined) {
      pack = { row, short: new ShortFiles(), long: [] };
      waiting.set(key, pack);
    }
    length += 1;
    return pack;
  };

  const fetchPack = async (pack: Pack): Promise<Outcome> => {
    const { row } = pack;
    if (last !== undefined && isSameRow(last.row, row)) {
      const { outcome } = last;
      // Its buffer must not be used for another pack before its turn comes.
      last = undefined;
      return outcome;
    }
    const buffer = buffers.pop() ?? new Uint8Array(PACK_BLOB_MAX);
    try {
      return usesThreads && threads.areReady()
        ? await openInThread(pack, buffer)
        : { plaintext: await packs.data(row, { signal, buffer }), buffer, written: NONE };
    } catch (error) {
      return { error, written: NONE };
    }
  };

  const openInThread = async ({ row, short }: Pack, into: PackBuffer): Promise<Outcome> => {
    const { blob, contentKey } = await packs.sealedData(row, { signal, buffer: into });
    throwIfAborted(signal);
    const pinned = new Map<Planned["parent"], Folder>();
    /** Those in the table, by their indexes. */
    const given: number[] = [];
    const table: TableFile[] = [];
    try {
      for (let index = 0; index < short.length; index += 1) {
        const { parent, name, hash, attributes, piece } = short.at(index);
        const isNotForThreads = attributes.extended !== undefined;
        if (isNotForThreads || (!pinned.has(parent) && pinned.size === FOLDERS_FOR_THREAD))
          continue;
        let folder = pinned.get(parent);
        if (folder === undefined) {
          try {
            folder = folders.pin(parent);
          } catch {
            // Only the files in it fail, when they are written without a thread.
            continue;
          }
          pinned.set(parent, folder);
        }
        given.push(index);
        const { hasTemporaryNames } = parent;
        table.push({ folder: folder.fd, hasTemporaryNames, name, hash, attributes, piece });
      }
      const { policy, verify, deletes } = context;
      const outcome = await threads.write({
        policy,
        verify,
        deletes,
        contentKey,
        buffer: into,
        length: blob.length,
        files: encodeTable(table),
      });
      if ("message" in outcome.plaintext) {
        return { error: errorOfThread(outcome.plaintext), written: NONE };
      }
      for (const { at, message } of outcome.warnings) report.warning(short.at(given[at]!), message);
      const written = new Map<number, Error | undefined>();
      for (const index of given) written.set(index, undefined);
      for (const { at, fault } of outcome.faults) written.set(given[at]!, errorOfThread(fault));
      const { start, length: plaintextLength } = outcome.plaintext;
      const { buffer } = outcome;
      return { plaintext: buffer.subarray(start, start + plaintextLength), buffer, written };
    } finally {
      for (const parent of pinned.keys()) folders.unpin(parent);
    }
  };

  const writeShort = ({ short }: Pack, index: number, outcome: Outcome): void => {
    const file = short.at(index);
    try {
      if (outcome.plaintext === undefined) throw outcome.error;
      const isWritten = outcome.written.has(index);
      const error = outcome.written.get(index);
      if (error !== undefined) throw error;
      if (!isWritten) {
        const { parent, name, hash, attributes, piece } = file;
        const { hasTemporaryNames } = parent;
        const warn = (message: string) => report.warning(file, message);
        const newFile = { name, hash, attributes, piece, hasTemporaryNames };
        writePiece(context, folders.open(parent), newFile, outcome.plaintext, warn);
      }
      report.written(file.piece.length);
      done(file);
    } catch (error) {
      assertOfOne(error);
      fail(file, error);
    }
  };

  const writeLong = async (
    to: LongPiece,
    piece: PieceLocation,
    { plaintext, error: packError }: Outcome,
  ): Promise<void> => {
    const { file } = to;
    file.pending -= 1;
    if (file.isFailed) return;
    try {
      if (plaintext === undefined) throw packError;
      await longs.write(to, decodePiece(plaintext, piece));
      if (!file.isComplete || file.pending > 0) return;
      await longs.finish(file);
      done(file);
    } catch (error) {
      assertOfOne(error);
      fail(file, error);
    }
  };

  return {
    addShort(file, row) {
      packOf(row).short.add(file);
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
      usesThreads ||= all.length >= PACKS_FOR_THREADS;
      const fetching: Promise<Outcome>[] = [];
      try {
        for (const [at, pack] of all.entries()) {
          while (fetching.length < AHEAD && at + fetching.length < all.length) {
            fetching.push(fetchPack(all[at + fetching.length]!));
          }
          const outcome = await fetching.shift()!;
          throwIfAborted(signal);
          for (let index = 0; index < pack.short.length; index += 1)
            writeShort(pack, index, outcome);
          for (const { to, piece } of pack.long) await writeLong(to, piece, outcome);
          keep(pack.row, outcome);
          context.freeMemory();
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
