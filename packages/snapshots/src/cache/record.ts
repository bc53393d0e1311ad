import type { FileType, Stat } from "../files/host.ts";
import { UnusableCache } from "./database.ts";

/** What a session remembers of an entry, in the order of a walk. */
export interface CacheRecord {
  readonly kind: "entry" | "enter" | "leave";
  readonly name: Uint8Array;
  readonly state: State;
  /** What the writer made of it, such as pieces and hash. */
  readonly value: Uint8Array;
}

/** The fields of `lstat` that differ if an entry has changed. */
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
export const RECORD_HEAD: number = 4 + 2 + 8 + 12 + 12 + 8 + 4;
const HEAD = RECORD_HEAD;
/** Where a record has the length of its name, which comes after the head. */
export const NAME_LENGTH_AT = 3;

/**
 * A record as it is in a chunk, of which only what is asked for is decoded: of a million unchanged files
 * that is a few numbers.
 */
export class StoredRecord implements CacheRecord {
  readonly kind: CacheRecord["kind"];
  /** The chunk's number in its state, and where the record is in it. */
  readonly chunk: number;
  readonly start: number;
  readonly end: number;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  /** @throws UnusableCache if the chunk is damaged */
  constructor(chunk: number, bytes: Uint8Array, view: DataView, start: number) {
    const kind = KINDS[bytes[start]!];
    const valueLength = start + HEAD <= bytes.length ? view.getUint32(start + 46) : Infinity;
    this.end = start + HEAD + bytes[start + 3]! + valueLength;
    if (!(this.end <= bytes.length) || kind === undefined) {
      throw new UnusableCache("a record is damaged");
    }
    this.kind = kind;
    this.chunk = chunk;
    this.start = start;
    this.#bytes = bytes;
    this.#view = view;
  }

  get name(): Uint8Array {
    const from = this.start + HEAD;
    return this.#bytes.subarray(from, from + this.#bytes[this.start + 3]!);
  }

  get value(): Uint8Array {
    return this.#bytes.subarray(this.start + HEAD + this.#bytes[this.start + 3]!, this.end);
  }

  get type(): FileType {
    const type = TYPES[this.#bytes[this.start + 1]!];
    if (type === undefined) throw new UnusableCache("a record is damaged");
    return type;
  }

  get size(): number {
    return this.#view.getFloat64(this.start + 6);
  }

  get state(): State {
    const [view, at] = [this.#view, this.start];
    return {
      type: this.type,
      mode: view.getUint16(at + 4),
      size: this.size,
      mtime: { seconds: view.getFloat64(at + 14), nanoseconds: view.getUint32(at + 22) },
      ctime: { seconds: view.getFloat64(at + 26), nanoseconds: view.getUint32(at + 34) },
      inode: view.getBigUint64(at + 38),
      isRecent: view.getUint8(at + 2) === 1,
    };
  }

  /** Compares its name with another. */
  compareName(name: Uint8Array): number {
    const bytes = this.#bytes;
    const from = this.start + HEAD;
    const own = bytes[this.start + 3]!;
    const shared = Math.min(own, name.length);
    for (let at = 0; at < shared; at += 1) {
      const difference = bytes[from + at]! - name[at]!;
      if (difference !== 0) return difference;
    }
    return own - name.length;
  }

  /** As `isUnchanged` of its state. */
  isUnchanged(stat: Stat): boolean {
    const [view, at] = [this.#view, this.start];
    return (
      this.#bytes[at + 2] === 0 &&
      stat.size === view.getFloat64(at + 6) &&
      stat.mtime.seconds === view.getFloat64(at + 14) &&
      stat.mtime.nanoseconds === view.getUint32(at + 22) &&
      stat.ctime.seconds === view.getFloat64(at + 26) &&
      stat.ctime.nanoseconds === view.getUint32(at + 34) &&
      stat.mode === view.getUint16(at + 4) &&
      stat.type === this.type &&
      stat.inode === view.getBigUint64(at + 38)
    );
  }

  /** Copies its bytes. */
  copyTo(into: Uint8Array, at: number): void {
    const bytes = this.#bytes;
    for (let from = this.start, to = at; from < this.end; from += 1, to += 1) {
      into[to] = bytes[from]!;
    }
  }
}

/** Whether an entry is as its record says, so that it need not be read. */
export function isAsRecorded(stat: Stat, record: CacheRecord): boolean {
  if (record instanceof StoredRecord) return record.isUnchanged(stat);
  return isUnchanged(stat, record.state);
}

/** Bytes of a file; 0 of anything else. */
export function fileSize(record: CacheRecord): number {
  const { type, size } = record instanceof StoredRecord ? record : record.state;
  return type === "file" ? size : 0;
}

/** The bytes that `writeRecord` writes. */
export function recordLength(record: CacheRecord): number {
  if (record instanceof StoredRecord) return record.end - record.start;
  return HEAD + record.name.length + record.value.length;
}

/** Writes a record at an offset. */
export function writeRecord(
  record: CacheRecord,
  into: Uint8Array,
  view: DataView,
  at: number,
): void {
  if (record instanceof StoredRecord) {
    record.copyTo(into, at);
    return;
  }
  const { kind, name, state, value } = record;
  view.setUint8(at, KINDS.indexOf(kind));
  view.setUint8(at + 1, TYPES.indexOf(state.type));
  view.setUint8(at + 2, Number(state.isRecent));
  view.setUint8(at + 3, name.length);
  view.setUint16(at + 4, state.mode);
  view.setFloat64(at + 6, state.size);
  view.setFloat64(at + 14, state.mtime.seconds);
  view.setUint32(at + 22, state.mtime.nanoseconds);
  view.setFloat64(at + 26, state.ctime.seconds);
  view.setUint32(at + 34, state.ctime.nanoseconds);
  view.setBigUint64(at + 38, state.inode);
  view.setUint32(at + 46, value.length);
  into.set(name, at + HEAD);
  into.set(value, at + HEAD + name.length);
}

/**
 * Reads the records of a chunk, from an offset on.
 *
 * @throws UnusableCache if it is damaged
 */
export function* readRecords(
  chunk: number,
  bytes: Uint8Array,
  start: number = 0,
): Generator<StoredRecord> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = start; at < bytes.length;) {
    const record = new StoredRecord(chunk, bytes, view, at);
    yield record;
    at = record.end;
  }
}
