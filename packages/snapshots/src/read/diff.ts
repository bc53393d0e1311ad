import { type Cursor, cursorOf } from "./cursor.ts";
import { type PlacedEntry, directoryOf, rootOf } from "./tree.ts";
import type { Directory } from "./tree.ts";
import { DEPTH_MAX } from "../format/limits.ts";
import type { OpenSnapshot } from "./open-snapshot.ts";
import { StorageError } from "@idk/storage";
import type { WalkedEntry } from "./walk.ts";
import { encodeCborT, equal } from "@idk/storage/blobs";
import { inPath } from "./paths.ts";
import { treeIdItem } from "../format/tree/encode-entry.ts";

/** How an entry differs between two snapshots. */
export interface Difference {
  readonly path: Uint8Array;
  /** `content`: another type, content or target. `attributes`: only mode, owner, times and the like. */
  readonly change: "added" | "removed" | "content" | "attributes";
  readonly before: WalkedEntry | undefined;
  readonly after: WalkedEntry | undefined;
}

/**
 * What differs between two snapshots, in the order of names, each directory before what is in it.
 * Directories with equal tree ids are not read. A directory is listed itself only if it was added or
 * removed or its own attributes differ.
 *
 * @throws StorageError `tree`
 */
export async function* diff(
  before: OpenSnapshot,
  after: OpenSnapshot,
  signal?: AbortSignal,
): AsyncGenerator<Difference> {
  interface Level {
    readonly a: Cursor | undefined;
    readonly b: Cursor | undefined;
    readonly path: Uint8Array;
  }
  const stack: Level[] = [];
  const counts = [before, after].map(() => ({ files: 0, directories: 0 }));
  const enter = async (a: Directory | undefined, b: Directory | undefined, path: Uint8Array) => {
    if (a !== undefined && b !== undefined && equal(a.treeId, b.treeId)) return;
    if (stack.length >= DEPTH_MAX) {
      throw new StorageError("tree", `the tree is deeper than ${DEPTH_MAX} directories`);
    }
    stack.push({
      a: a && (await cursorOf(before.tree, a, signal)),
      b: b && (await cursorOf(after.tree, b, signal)),
      path,
    });
  };
  /** What was read of a tree cannot be more than it announces. */
  const count = ({ entry }: PlacedEntry, side: 0 | 1) => {
    const { totals } = (side === 0 ? before : after).snapshot;
    const counted = counts[side]!;
    const key = entry.type === "directory" ? "directories" : "files";
    counted[key] += 1;
    if (counted[key] > totals[key]) {
      throw new StorageError("tree", `a snapshot has more ${key} than it announces`);
    }
  };
  await enter(rootOf(before.snapshot), rootOf(after.snapshot), new Uint8Array(0));
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    let a = await top.a?.current(signal);
    let b = await top.b?.current(signal);
    if (a === undefined && b === undefined) {
      stack.pop();
      continue;
    }
    if (a !== undefined && b !== undefined) {
      const order = Buffer.compare(a.entry.name, b.entry.name);
      if (order < 0) b = undefined;
      if (order > 0) a = undefined;
    }
    if (a !== undefined) {
      top.a!.advance();
      count(a, 0);
    }
    if (b !== undefined) {
      top.b!.advance();
      count(b, 1);
    }
    const path = inPath(top.path, (a ?? b)!.entry.name);
    const depth = stack.length;
    const change = changeOf(a?.entry, b?.entry);
    if (change !== undefined) {
      yield { path, change, before: a && { ...a, path, depth }, after: b && { ...b, path, depth } };
    }
    const inner = [a, b].map((placed) =>
      placed?.entry.type === "directory"
        ? directoryOf({ entry: placed.entry, pack: placed.pack })
        : undefined,
    );
    if (inner.some((directory) => directory !== undefined)) await enter(inner[0], inner[1], path);
  }
}

function changeOf(
  a: PlacedEntry["entry"] | undefined,
  b: PlacedEntry["entry"] | undefined,
): Difference["change"] | undefined {
  if (a === undefined) return "added";
  if (b === undefined) return "removed";
  const [before, after] = [treeIdItem(a), treeIdItem(b)] as [unknown[], unknown[]];
  const isSame = (...fields: readonly number[]) =>
    fields.every((at) => equal(encodeCborT(before[at] as never), encodeCborT(after[at] as never)));
  const isDirectory = a.type === "directory" && b.type === "directory";
  // Type, size, content and hash. What is in a directory is listed by itself.
  if (!isDirectory && !isSame(1, 7, 8, 9)) return "content";
  return isSame(2, 3, 4, 5, 6, 10) ? undefined : "attributes";
}
