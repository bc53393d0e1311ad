import type { FileType, Stat } from "../files/host.ts";

/** What a session remembers of an entry, in the order of a walk. */
export interface CacheRecord {
  readonly kind: "entry" | "enter" | "leave";
  readonly name: Uint8Array;
  readonly state: State;
  /** What the writer made of it, such as pieces and hash. */
  readonly value: Uint8Array;
}

/** What `lstat` returned, as far as it says whether an entry has changed. */
export type State = Pick<Stat, "type" | "mode" | "size" | "mtime" | "ctime" | "inode"> & {
  /** Whether a change after it was read may have left all of this as it is. */
  readonly isRecent: boolean;
};

/** File systems and clocks that count in two seconds. */
const RECENT_MS = 2000;

/**
 * The state of an entry that is read now.
 *
 * @param now by the clock of the host, in milliseconds, before it is read
 */
export function stateOf(stat: Stat, now: number): State {
  const { type, mode, size, mtime, ctime, inode } = stat;
  const newest = Math.max(mtime.seconds, ctime.seconds) * 1000;
  // Whole seconds are up to one second early.
  const isRecent = newest + 1000 > now - RECENT_MS;
  return { type, mode, size, mtime, ctime, inode, isRecent };
}

/** Whether an entry is as it was, so that it need not be read. */
export function isUnchanged(stat: Stat, state: State): boolean {
  return (
    !state.isRecent &&
    stat.size === state.size &&
    stat.inode === state.inode &&
    stat.type === state.type &&
    stat.mode === state.mode &&
    stat.mtime.seconds === state.mtime.seconds &&
    stat.mtime.nanoseconds === state.mtime.nanoseconds &&
    stat.ctime.seconds === state.ctime.seconds &&
    stat.ctime.nanoseconds === state.ctime.nanoseconds
  );
}

const KINDS = ["entry", "enter", "leave"] as const;
const TYPES = [
  "file",
  "directory",
  "link",
  "fifo",
  "socket",
  "character-device",
  "block-device",
] as const satisfies readonly FileType[];

/** kind, type, recent, length of the name, mode, size, both times, inode, length of the value. */
const HEAD = 4 + 2 + 8 + 12 + 12 + 8 + 4;

/** The bytes that `writeRecord` writes. */
export function recordLength({ name, value }: CacheRecord): number {
  return HEAD + name.length + value.length;
}

/** Writes a record at an offset. */
export function writeRecord(record: CacheRecord, into: Uint8Array, at: number): void {
  const { kind, name, state, value } = record;
  const view = new DataView(into.buffer, into.byteOffset + at);
  view.setUint8(0, KINDS.indexOf(kind));
  view.setUint8(1, TYPES.indexOf(state.type));
  view.setUint8(2, Number(state.isRecent));
  view.setUint8(3, name.length);
  view.setUint16(4, state.mode);
  view.setFloat64(6, state.size);
  view.setFloat64(14, state.mtime.seconds);
  view.setUint32(22, state.mtime.nanoseconds);
  view.setFloat64(26, state.ctime.seconds);
  view.setUint32(34, state.ctime.nanoseconds);
  view.setBigUint64(38, state.inode);
  view.setUint32(46, value.length);
  into.set(name, at + HEAD);
  into.set(value, at + HEAD + name.length);
}

/** Reads the records of a chunk. Byte strings are views. */
export function* readRecords(chunk: Uint8Array): Generator<CacheRecord> {
  const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.length);
  for (let at = 0; at < chunk.length;) {
    const start = at + HEAD;
    const middle = start + view.getUint8(at + 3);
    const end = middle + view.getUint32(at + 46);
    const [kind, type] = [KINDS[view.getUint8(at)], TYPES[view.getUint8(at + 1)]];
    if (end > chunk.length || kind === undefined || type === undefined) {
      throw new RangeError("the cache is damaged");
    }
    yield {
      kind,
      name: chunk.subarray(start, middle),
      state: {
        type,
        mode: view.getUint16(at + 4),
        size: view.getFloat64(at + 6),
        mtime: { seconds: view.getFloat64(at + 14), nanoseconds: view.getUint32(at + 22) },
        ctime: { seconds: view.getFloat64(at + 26), nanoseconds: view.getUint32(at + 34) },
        inode: view.getBigUint64(at + 38),
        isRecent: view.getUint8(at + 2) === 1,
      },
      value: chunk.subarray(middle, end),
    };
    at = end;
  }
}
