import { type Cursor, cursorOf } from "./cursor.ts";
import { type Directory, type PlacedEntry, type TreeReader, directoryOf } from "./tree.ts";
import { DEPTH_MAX } from "../format/limits.ts";
import { StorageError } from "@idk/storage";
import type { Totals } from "../format/records/snapshot.ts";
import { isFaultForNow } from "../repository/find-heads.ts";

export { DEPTH_MAX };

/** An entry of a tree, and where in it. */
export interface WalkedEntry extends PlacedEntry {
  /** Names joined by slashes, as bytes, without a slash before or after. */
  readonly path: Uint8Array;
  /** 1 in the root directory. */
  readonly depth: number;
}

/** Nodes of all directories on one path: more than 30 million entries. Beyond, memory would be. */
const NODES_ON_PATH_MAX = 2 ** 18;

/** Options of `walk`. */
export interface WalkOptions {
  readonly signal?: AbortSignal | undefined;
  /** What the snapshot announces: the walk fails as soon as there is more, and at its end if less. */
  readonly totals?: Pick<Totals, "files" | "directories" | "bytes"> | undefined;
  /** Whether to go into a directory; by default into all. Totals are then upper bounds. */
  readonly enters?: ((entry: WalkedEntry) => boolean) | undefined;
  /** The path of the directory; by default that of the root. */
  readonly path?: Uint8Array | undefined;
  /** The depth of the directory; by default 0, that of the root. */
  readonly depth?: number | undefined;
  /** What the whole snapshot announces, if the walk is of a part: there cannot be more. */
  readonly atMost?: WalkOptions["totals"];
  /**
   * Is called with the depth of a directory that cannot be read to its end, because a metadata pack is
   * missing, damaged or malformed, and the walk goes on behind it. By default it fails.
   */
  readonly onUnreadable?: ((depth: number, error: StorageError) => void) | undefined;
}

/**
 * All entries of a directory and those below it: each directory before what is in it, and all in the
 * order of names. In bounded memory, however many there are.
 *
 * @throws StorageError `tree` at the first thing that is wrong, what came before is right
 */
export async function* walk(
  tree: TreeReader,
  directory: Directory,
  {
    signal,
    totals,
    enters,
    path: start = NO_PATH,
    depth: above = 0,
    atMost,
    onUnreadable,
  }: WalkOptions = {},
): AsyncGenerator<WalkedEntry> {
  const stack: Cursor[] = [];
  const paths = pathOfWalk(start);
  const counts = counting(totals ?? atMost);
  let nodesOnPath = 0;
  let isWhole = totals !== undefined;
  const passOver = (depth: number, error: unknown): void => {
    if (onUnreadable === undefined || !isFaultForNow(error)) throw error;
    isWhole = false;
    onUnreadable(depth, error);
  };
  const enter = async (inner: Directory) => {
    const nodes = nodesOnPath + inner.nodes.length;
    if (above + stack.length > DEPTH_MAX) {
      throw new StorageError("tree", `the tree is deeper than ${DEPTH_MAX} directories`);
    }
    if (nodes > NODES_ON_PATH_MAX) {
      throw new StorageError(
        "tree",
        `the directories on one path have more than ${NODES_ON_PATH_MAX} nodes`,
      );
    }
    try {
      stack.push(await cursorOf(tree, inner, signal));
      nodesOnPath = nodes;
    } catch (error) {
      passOver(above + stack.length, error);
    }
  };
  await enter(directory);
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    let placed: PlacedEntry | undefined;
    try {
      placed = await top.current(signal);
    } catch (error) {
      passOver(above + stack.length - 1, error);
    }
    if (placed === undefined) {
      nodesOnPath -= top.directory.nodes.length;
      stack.pop();
      continue;
    }
    top.advance();
    const { entry, pack } = placed;
    counts.add(entry);
    const path = paths.of(stack.length, entry.name);
    const walked: WalkedEntry = { entry, pack, path, depth: above + stack.length };
    yield walked;
    if (entry.type !== "directory") continue;
    if (enters?.(walked) === false) isWhole = false;
    else await enter(directoryOf({ entry, pack }));
  }
  if (isWhole) counts.end();
}

const NO_PATH = new Uint8Array(0);
const SLASH = 0x2f;

/**
 * The path that a walk is at, held once: 4,096 levels of names of 255 bytes, with a path for each, would
 * take two gigabytes.
 */
function pathOfWalk(start: Uint8Array): { of(level: number, name: Uint8Array): Uint8Array } {
  let bytes = new Uint8Array(4096 + start.length);
  bytes.set(start);
  /** Where the path of each level's directory ends. */
  const ends = [0, start.length];
  return {
    of(level, name) {
      let at = ends[level]!;
      if (at + 1 + name.length > bytes.length) {
        const longer = new Uint8Array(2 * bytes.length);
        longer.set(bytes);
        bytes = longer;
      }
      if (at > 0) {
        bytes[at] = SLASH;
        at += 1;
      }
      bytes.set(name, at);
      ends[level + 1] = at + name.length;
      return bytes.slice(0, at + name.length);
    },
  };
}

function counting(totals: WalkOptions["totals"]) {
  const found = { files: 0, directories: 0, bytes: 0 };
  const keys = ["files", "directories", "bytes"] as const;
  const wrong = (key: keyof typeof found, how: string) =>
    new StorageError(
      "tree",
      `the snapshot has ${how} ${key} than the ${totals?.[key]} that it announces`,
    );
  return {
    add(entry: PlacedEntry["entry"]): void {
      if (entry.type === "directory") found.directories += 1;
      else found.files += 1;
      if (entry.type === "file") found.bytes += entry.size;
      if (totals === undefined) return;
      for (const key of keys) if (found[key] > totals[key]) throw wrong(key, "more");
    },
    end(): void {
      if (totals === undefined) return;
      for (const key of keys) if (found[key] < totals[key]) throw wrong(key, "fewer");
    },
  };
}
