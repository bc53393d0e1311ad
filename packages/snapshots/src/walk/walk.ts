import type { Folder, Host, Stat } from "../files/host.ts";
import { type Root, bytesOf } from "./roots.ts";
import { type Excludes, pathText } from "./excludes.ts";
import { NameList } from "../files/names.ts";
import { codeOf } from "../files/errors.ts";
import { CACHE_TAG, isCacheFolder } from "./cache-folder.ts";

/**
 * A step of a walk. Folders are entered and left, so that a writer has the entries of each before the
 * entry of the folder itself; within a folder, names ascend as bytes. So the steps of two walks can be
 * merged. `folder` is open until the next step.
 */
export type Step =
  | {
      readonly kind: "entry";
      readonly folder: Folder;
      readonly name: Uint8Array;
      readonly stat: Stat;
    }
  | {
      readonly kind: "enter";
      readonly folder: Folder;
      readonly name: Uint8Array;
      readonly stat: Stat;
    }
  | {
      readonly kind: "leave";
      readonly name: Uint8Array;
      readonly stat: Stat;
    }
  | Unreadable;

/** Something that is left out because the system did not let it be read. */
export interface Unreadable {
  readonly kind: "unreadable";
  /** From the root, without a slash in front. */
  readonly path: Uint8Array;
  readonly error: unknown;
}

export interface WalkOptions {
  readonly excludes?: Excludes | undefined;
  /** Leave out what is in folders that `CACHEDIR.TAG` marks as caches, except this file. */
  readonly excludeCaches?: boolean;
  /** Leave out what is in folders that have something of one of these names, except this. */
  readonly excludeIfPresent?: readonly Uint8Array[];
  /** Leave out longer files, in bytes, unless they were given themselves. */
  readonly excludeLargerThan?: number | undefined;
  /** Stay on the file systems of the given paths. Folders where others are mounted are empty then. */
  readonly oneFileSystem?: boolean;
  /** A given folder could be listed. */
  readonly onGivenFolder?: () => void;
}

/** Folders that are open at once. Those further up are opened again on the way back. */
const OPEN_MAX = 64;

interface Level {
  readonly name: Uint8Array;
  readonly stat: Stat;
  readonly names: NameList;
  /** What leads to given paths; undefined in these. */
  readonly root: Root | undefined;
  /** Of the given path that this is in. */
  readonly device: number | undefined;
  /** The only name that is not left out; undefined if all are walked. */
  readonly only: Uint8Array | undefined;
  folder: Folder | undefined;
  next: number;
}

/**
 * Walks the given paths.
 *
 * The root is entered and left too, with an empty name. Memory is that of the names of the folders from
 * the root to the present one, and of `OPEN_MAX` open folders; no path is ever passed to the system, so
 * depth has no limit.
 */
export function* walk(host: Host, root: Root, options: WalkOptions = {}): Generator<Step> {
  const levels: Level[] = [];
  /** The folder that was just left, which may lead to the one above. */
  let left: Folder | undefined;
  /** The names of the folders below the root, as excludes take them. */
  const texts: string[] = [];
  const pathOf = (name?: Uint8Array): Uint8Array => {
    const names = levels.slice(1).map((level) => level.name);
    if (name !== undefined) names.push(name);
    return Buffer.concat(names.flatMap((part, at) => (at === 0 ? [part] : [SLASH, part])));
  };
  const unreadable = (error: unknown, name?: Uint8Array): Step => ({
    kind: "unreadable",
    path: pathOf(name),
    error,
  });

  /** Opens and lists a folder. It is walked even if it cannot be listed, because its entry is there. */
  function* enter(
    name: Uint8Array,
    stat: Stat,
    below: Root | undefined,
    open: () => Folder,
  ): Generator<Step> {
    const parent = levels.at(-1);
    let folder: Folder;
    try {
      folder = open();
    } catch (error) {
      yield unreadable(error, name);
      return;
    }
    const onTheWay = below === undefined || below.isGiven ? undefined : below;
    const device = parent?.device ?? (onTheWay === undefined ? stat.device : undefined);
    const isForeign =
      options.oneFileSystem === true && device !== undefined && stat.device !== device;
    let names = new NameList();
    let failure: unknown;
    try {
      if (onTheWay !== undefined) names = namesOf(onTheWay);
      else if (!isForeign) names = host.list(folder);
    } catch (error) {
      failure = error;
    }
    if (failure === undefined && below?.isGiven === true) options.onGivenFolder?.();
    names.sort();
    const only = onTheWay === undefined ? markOf(host, folder, options) : undefined;
    if (options.excludes !== undefined && parent !== undefined) texts.push(pathText(name));
    levels.push({ name, stat, names, root: onTheWay, device, only, folder, next: 0 });
    closeFarAbove(host, levels);
    yield { kind: "enter", folder, name, stat };
    if (failure !== undefined) yield unreadable(failure);
  }

  try {
    const top = host.openRoot(SLASH);
    yield* enter(new Uint8Array(), host.statOpen(top.fd), root, () => top);
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      level.folder ??= reopen(host, levels, left);
      if (left !== undefined) host.close(left);
      left = undefined;
      const { folder } = level;
      const isLost = folder === undefined;
      if (isLost) yield unreadable(new Error("the folder was moved during the backup"));
      if (isLost || level.next === level.names.length) {
        left = folder;
        levels.pop();
        texts.pop();
        yield { kind: "leave", name: level.name, stat: level.stat };
        continue;
      }
      const name = level.names.name(level.next);
      level.next += 1;
      const below = level.root?.children.get(Buffer.from(name).toString("latin1"));
      if (level.only !== undefined && Buffer.compare(level.only, name) !== 0) continue;
      if (options.excludes !== undefined && below === undefined) {
        texts.push(pathText(name));
        const isExcluded = options.excludes.matches(texts);
        texts.pop();
        if (isExcluded) continue;
      }
      let stat: Stat | undefined;
      try {
        stat = host.stat(folder, name);
      } catch (error) {
        yield unreadable(error, name);
        continue;
      }
      if (stat !== undefined && below === undefined && isTooLarge(stat, options)) continue;
      if (stat === undefined) {
        // A given path has to be there. Any other file may have gone since the folder was listed.
        if (below !== undefined)
          yield unreadable(new Error("there is no such file or folder"), name);
      } else if (stat.type !== "directory" && below?.isGiven === false) {
        yield unreadable(new Error("it is not a folder"), name);
      } else if (stat.type === "directory") {
        yield* enter(name, stat, below, () => openSame(host, folder, name, stat));
      } else {
        yield { kind: "entry", folder, name, stat };
      }
    }
  } finally {
    if (left !== undefined) host.close(left);
    for (const level of levels) if (level.folder !== undefined) host.close(level.folder);
  }
}

/** Opens a folder, unless it has been replaced since. */
function openSame(host: Host, parent: Folder, name: Uint8Array, stat: Stat): Folder {
  const folder = host.openFolder(parent, name);
  if (isSame(host.statOpen(folder.fd), stat)) return folder;
  host.close(folder);
  throw new Error("the folder was replaced during the backup");
}

function isSame(a: Stat, b: Stat): boolean {
  return a.inode === b.inode && a.device === b.device;
}

function closeFarAbove(host: Host, levels: readonly Level[]): void {
  const far = levels.at(-1 - OPEN_MAX);
  if (far?.folder === undefined) return;
  host.close(far.folder);
  far.folder = undefined;
}

/**
 * Opens the present folder again: above the one just left, or, if that was moved, by its path.
 *
 * @returns undefined if it is at neither place any more
 */
function reopen(
  host: Host,
  levels: readonly Level[],
  left: Folder | undefined,
): Folder | undefined {
  const { stat } = levels.at(-1)!;
  // The path is as long as the folder is deep, and seldom needed.
  const byPath = (): Folder => {
    const top = host.openRoot(SLASH);
    if (levels.length === 1) return top;
    const path = Buffer.concat(
      levels.slice(1).flatMap(({ name }, at) => (at === 0 ? [name] : [SLASH, name])),
    );
    try {
      return host.openBeneath(top, path);
    } finally {
      host.close(top);
    }
  };
  for (const open of [() => (left === undefined ? undefined : host.openAbove(left)), byPath]) {
    try {
      const folder = open();
      if (folder === undefined) continue;
      if (isSame(host.statOpen(folder.fd), stat)) return folder;
      host.close(folder);
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
    }
  }
  return undefined;
}

function namesOf(root: Root): NameList {
  const names = new NameList();
  for (const name of root.children.keys()) {
    const bytes = bytesOf(name);
    names.add(bytes, 0, bytes.length);
  }
  return names;
}

const SLASH = Buffer.from("/");

/** The name that marks a folder as one to be left out, itself excepted. */
function markOf(
  host: Host,
  folder: Folder,
  { excludeCaches = false, excludeIfPresent = [] }: WalkOptions,
): Uint8Array | undefined {
  if (excludeCaches && isCacheFolder(host, folder)) return CACHE_TAG;
  return excludeIfPresent.find((name) => isThere(host, folder, name));
}

/** What cannot be looked at does not count. */
function isThere(host: Host, folder: Folder, name: Uint8Array): boolean {
  try {
    return host.stat(folder, name) !== undefined;
  } catch {
    return false;
  }
}

function isTooLarge({ type, size }: Stat, { excludeLargerThan = Infinity }: WalkOptions): boolean {
  return type === "file" && size > excludeLargerThan;
}
