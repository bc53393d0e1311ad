import type { NameList } from "./names.ts";

/** Seconds since 1970, which may be negative, and 0 to 999,999,999 nanoseconds from there. */
export interface Time {
  readonly seconds: number;
  readonly nanoseconds: number;
}

export type FileType =
  | "file"
  | "directory"
  | "link"
  | "fifo"
  | "socket"
  | "character-device"
  | "block-device";

export interface Stat {
  readonly type: FileType;
  /** The lower 12 bits. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Bytes, of whatever type. */
  readonly size: number;
  /** Bytes that the file system stores of it: fewer than `size` if it has holes or is compressed. */
  readonly allocated: number;
  readonly mtime: Time;
  readonly ctime: Time;
  readonly inode: bigint;
  /** Where it lies, only to be compared. */
  readonly device: number;
  /** How many names it has. */
  readonly links: number;
  /** Of a device; otherwise 0. */
  readonly major: number;
  readonly minor: number;
}

/** An open folder. `path` is for hosts that have no calls relative to a folder. */
export interface Folder {
  readonly fd: number;
  readonly path: Uint8Array;
}

/**
 * What a backup and a restore do in the file system of a host. A `name` is one component, as bytes, and
 * its link is never followed: so nobody who changes the folders at the same time leads a call elsewhere.
 *
 * Every function throws an error with the `code` of the system, such as `ENOENT`, or `ENOTSUP` if the
 * host has no such call. Calls are synchronous.
 */
export interface Host {
  /** What this host cannot do, as phrases for a warning; empty if it can do everything. */
  readonly lost: readonly string[];

  /** Opens the folder at a path. Follows links. */
  openRoot(path: Uint8Array): Folder;
  openFolder(parent: Folder, name: Uint8Array): Folder;
  /** Opens the folder above, which need not be the one that this was opened from. */
  openAbove(folder: Folder): Folder;
  /** Opens a folder some levels below, at components with `/` between, without following any link. */
  openBeneath(folder: Folder, path: Uint8Array): Folder;
  close(folder: Folder): void;
  /**
   * Opens a file for the runtime's calls on descriptors. Never blocks, also if it is a fifo.
   *
   * @param flags of `node:fs`
   * @param mode of a file that is created
   */
  openFile(folder: Folder, name: Uint8Array, flags: number, mode?: number): number;

  /** The names in a folder, without `.` and `..`, in no order. */
  list(folder: Folder): NameList;
  /** Undefined if there is nothing of this name. */
  stat(folder: Folder, name: Uint8Array): Stat | undefined;
  /** Of an open file or folder. */
  statOpen(fd: number): Stat;
  readLink(folder: Folder, name: Uint8Array): Uint8Array;
  /**
   * Extended attributes by name. Those that cannot be read, or whose names are not UTF-8, are left out.
   *
   * @param name undefined for the folder itself
   * @param report takes why each is left out
   */
  attributes(
    folder: Folder,
    name: Uint8Array | undefined,
    report?: (problem: string) => void,
  ): Map<string, Uint8Array>;
  /** Parts of a file that are not holes, in order, as far as the file system says. */
  dataRanges(fd: number, size: number): Generator<readonly [start: number, end: number]>;

  makeFolder(folder: Folder, name: Uint8Array, mode: number): void;
  makeLink(folder: Folder, name: Uint8Array, target: Uint8Array): void;
  /** Gives a file one more name. */
  linkFile(from: Folder, fromName: Uint8Array, to: Folder, toName: Uint8Array): void;
  makeSpecial(
    folder: Folder,
    name: Uint8Array,
    type: "fifo" | "socket" | "character-device" | "block-device",
    mode: number,
    major: number,
    minor: number,
  ): void;
  rename(from: Folder, fromName: Uint8Array, to: Folder, toName: Uint8Array): void;
  removeFile(folder: Folder, name: Uint8Array): void;
  /** Removes an empty folder. */
  removeFolder(folder: Folder, name: Uint8Array): void;
  /** Sets the time of the last change; that of the last access stays. */
  setTime(folder: Folder, name: Uint8Array, time: Time): void;
  setTimeOpen(fd: number, time: Time): void;
  /** Not of links, which have no mode. */
  setMode(folder: Folder, name: Uint8Array, mode: number): void;
  setOwner(folder: Folder, name: Uint8Array, uid: number, gid: number): void;
  setAttribute(folder: Folder, name: Uint8Array, attribute: string, value: Uint8Array): void;
  setAttributeOpen(fd: number, attribute: string, value: Uint8Array): void;

  /** The name of a user; undefined if it has none. */
  userName(uid: number): string | undefined;
  groupName(gid: number): string | undefined;
  userId(name: string): number | undefined;
  groupId(name: string): number | undefined;
}

const SLASH = 0x2f;
const DOT = 0x2e;

/**
 * Checks that a name is one component: whatever a repository claims, a call stays in its folder.
 *
 * @throws RangeError if it is not
 */
export function assertName(name: Uint8Array): void {
  const isDots = name[0] === DOT && (name.length === 1 || (name.length === 2 && name[1] === DOT));
  if (
    name.length === 0 ||
    name.length > 255 ||
    isDots ||
    name.includes(SLASH) ||
    name.includes(0)
  ) {
    throw new RangeError("not the name of a file");
  }
}

/** The components of a relative path, each checked. */
export function componentsOf(path: Uint8Array): Uint8Array[] {
  const components: Uint8Array[] = [];
  for (let start = 0; start <= path.length;) {
    const slash = path.indexOf(SLASH, start);
    const end = slash === -1 ? path.length : slash;
    const component = path.subarray(start, end);
    assertName(component);
    components.push(component);
    start = end + 1;
  }
  return components;
}
