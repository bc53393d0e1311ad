import type { Folder, Host, Stat } from "../files/host.ts";
import { closeSync, constants, readSync } from "node:fs";
import { PIECE_MAX } from "../format/limits.ts";

/** Part of a file that is read. */
export type Chunk =
  /** A new attempt begins: what came before is to be forgotten. */
  | { readonly kind: "start" }
  /** At most 2^20 bytes, none of them beyond the next multiple of it. Valid until the next chunk. */
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** Zeros that the file system does not store: a multiple of 2^20 from a multiple of it, or to the end. */
  | { readonly kind: "hole"; readonly length: number };

/** How a file was after it was read. */
export interface ReadFile {
  readonly stat: Stat;
  /** The bytes read, which is what the entry of an inconsistent file has as its size. */
  readonly size: number;
  /** Whether it changed in each attempt: what was read may never have been there at one time. */
  readonly isInconsistent: boolean;
}

const ATTEMPTS = 3;

/**
 * For how long after a change holes are not believed: file systems have claimed holes for data that they had
 * in memory only (OpenZFS, before 2.2.2).
 */
const UNSTORED_MS = 5 * 60 * 1000;

/** What was a file when its folder was listed. */
export class NotAFile extends Error {
  override readonly name = "NotAFile";

  constructor() {
    super("it is not a file any more");
  }
}

/**
 * Reads a file that others may be writing: if its stat is another after reading than before, or it
 * shrank on the way, it is read again, three times at most.
 *
 * @param now by the clock of the host, in milliseconds
 * @param buffer of 2^20 bytes, which chunks are views of
 * @throws the error of the system if it vanished or cannot be read, or NotAFile
 */
export function* readFile(
  host: Host,
  folder: Folder,
  name: Uint8Array,
  now: number,
  buffer: Uint8Array,
): Generator<Chunk, ReadFile> {
  for (let attempt = 1; ; attempt += 1) {
    const fd = host.openFile(folder, name, constants.O_RDONLY);
    try {
      const before = host.statOpen(fd);
      if (before.type !== "file") throw new NotAFile();
      yield { kind: "start" };
      const ranges = rangesOf(host, fd, before, now);
      const size = yield* readOnce(fd, before.size, ranges, buffer);
      const after = host.statOpen(fd);
      const isUnchanged = size === after.size && isSameState(before, after);
      if (isUnchanged || attempt === ATTEMPTS) {
        return { stat: after, size, isInconsistent: !isUnchanged };
      }
    } finally {
      closeSync(fd);
    }
  }
}

/** Whether a file is unchanged between two stats of it. */
export function isSameState(a: Stat, b: Stat): boolean {
  return (
    a.size === b.size &&
    a.inode === b.inode &&
    a.mtime.seconds === b.mtime.seconds &&
    a.mtime.nanoseconds === b.mtime.nanoseconds &&
    a.ctime.seconds === b.ctime.seconds &&
    a.ctime.nanoseconds === b.ctime.nanoseconds
  );
}

/** The parts of a file that are read. The others are holes, which nothing would find later if they were not. */
function rangesOf(host: Host, fd: number, stat: Stat, now: number): DataRanges {
  const { size, allocated, mtime, ctime } = stat;
  const changed = Math.max(mtime.seconds, ctime.seconds) * 1000;
  const mayHaveHoles = size > PIECE_MAX && allocated < size && changed < now - UNSTORED_MS;
  return mayHaveHoles ? host.dataRanges(fd, size) : [[0, size] as const][Symbol.iterator]();
}

type DataRanges = Iterator<readonly [start: number, end: number]>;

/** Reads to the announced size and never beyond, so that a file that grows has an end. */
function* readOnce(
  fd: number,
  size: number,
  ranges: DataRanges,
  buffer: Uint8Array,
): Generator<Chunk, number> {
  let range = ranges.next();
  for (let at = 0; at < size;) {
    while (range.done !== true && range.value[1] <= at) range = ranges.next();
    const data = range.done === true ? size : Math.max(range.value[0], at);
    const hole = data === size ? size - at : Math.floor((data - at) / PIECE_MAX) * PIECE_MAX;
    if (hole > 0) {
      yield { kind: "hole", length: hole };
      at += hole;
      continue;
    }
    const wanted = Math.min(PIECE_MAX, size - at);
    let length = 0;
    while (length < wanted) {
      const read = readSync(fd, buffer, length, wanted - length, at + length);
      if (read === 0) break;
      length += read;
    }
    if (length > 0) yield { kind: "bytes", bytes: buffer.subarray(0, length) };
    at += length;
    if (length < wanted) return at;
  }
  return size;
}
