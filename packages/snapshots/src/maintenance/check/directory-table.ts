import { column, keyTable } from "./key-table.ts";

/** What is in a directory and below it. */
export interface Totals {
  files: number;
  directories: number;
  bytes: number;
}

/** A directory that was gone through. */
export interface CheckedDirectory extends Readonly<Totals> {
  /** Numbers of the packs that it refers to itself. */
  readonly packs: Iterable<number>;
  /** Numbers of the directories in it. */
  readonly children: Iterable<number>;
  /** Whether it and everything below it could be read. */
  readonly isWhole: boolean;
}

/** Directories that were gone through, by numbers, at about 80 bytes each. */
export interface DirectoryTable {
  readonly length: number;
  /** What it takes, in bytes. */
  readonly bytes: number;
  find(key: Uint8Array): number | undefined;
  /** @param key of `KEY_LENGTH` bytes */
  add(key: Uint8Array, directory: CheckedDirectory): number;
  /** Without its packs and children. */
  totals(number: number): Readonly<Totals> & { readonly isWhole: boolean };
  /** The packs of a directory and all below it, each once. @param packCount how many packs there are */
  packsBelow(root: number, packCount: number): Generator<number>;
  /** Takes back all but the first. */
  truncate(length: number): void;
}

export const KEY_LENGTH = 16;

export function directoryTable(): DirectoryTable {
  const keys = keyTable(KEY_LENGTH);
  const [files, directories, bytes] = [
    column(Float64Array),
    column(Float64Array),
    column(Float64Array),
  ];
  const isWhole = column(Int32Array);
  /** Where its numbers begin: those of packs, -1, and those of children up to where the next begin. */
  const starts = column(Int32Array);
  const numbers = column(Int32Array);
  return {
    get length() {
      return keys.length;
    },
    get bytes() {
      return keys.bytes + keys.length * (3 * 8 + 2 * 4) + numbers.length * 4;
    },
    find: keys.find,
    add(key, directory) {
      const number = keys.add(key);
      if (number < starts.length) return number;
      files.push(directory.files);
      directories.push(directory.directories);
      bytes.push(directory.bytes);
      isWhole.push(directory.isWhole ? 1 : 0);
      starts.push(numbers.length);
      for (const pack of directory.packs) numbers.push(pack);
      numbers.push(-1);
      for (const child of directory.children) numbers.push(child);
      return number;
    },
    totals: (number) => ({
      files: files.at(number),
      directories: directories.at(number),
      bytes: bytes.at(number),
      isWhole: isWhole.at(number) === 1,
    }),
    *packsBelow(root, packCount) {
      const seenDirectories = new Uint8Array(keys.length);
      const seenPacks = new Uint8Array(packCount);
      const pending = [root];
      seenDirectories[root] = 1;
      for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
        const end = next + 1 === starts.length ? numbers.length : starts.at(next + 1);
        let isChild = false;
        for (let at = starts.at(next); at < end; at++) {
          const number = numbers.at(at);
          if (number === -1) {
            isChild = true;
          } else if (isChild) {
            if (seenDirectories[number] !== 1) pending.push(number);
            seenDirectories[number] = 1;
          } else if (seenPacks[number] !== 1) {
            seenPacks[number] = 1;
            yield number;
          }
        }
      }
    },
    truncate(length) {
      if (length === keys.length) return;
      numbers.truncate(length === 0 ? 0 : starts.at(length));
      keys.truncate(length);
      for (const one of [files, directories, bytes, isWhole, starts]) one.truncate(length);
    },
  };
}
