import { type Directory, type PlacedEntry, type TreeReader } from "./tree.ts";
import { type TreeIdHash, treeIdHash } from "../format/tree/tree-id.ts";
import { StorageError } from "@idk/storage";
import { throwIfAborted } from "./aborted.ts";
import { equal } from "@idk/storage/blobs";

/**
 * Goes through a directory in the order of names, checking on the way that no name comes twice or out
 * of order, and at its end its tree id. It holds no entries: a tree may be 4,096 levels deep, and each
 * level as large as a pack.
 */
export interface Cursor {
  readonly directory: Directory;
  /**
   * The entry that it is at; undefined at the end.
   *
   * @throws StorageError `tree`
   */
  current(signal?: AbortSignal): Promise<PlacedEntry | undefined>;
  /** Goes on to the next entry. */
  advance(): void;
}

export async function cursorOf(
  tree: TreeReader,
  directory: Directory,
  signal?: AbortSignal,
): Promise<Cursor> {
  const { nodes, treeId } = directory;
  // The id begins with the number of entries, so they are counted first.
  let total = 0;
  for (const node of nodes) total += await tree.count(node, signal);
  const id = treeIdHash(total);
  if (nodes.length === 0) checkTreeId(id, treeId);
  let [nodeIndex, entryIndex] = [0, 0];
  /** Up to which node everything is hashed. */
  let checked = 0;
  let previous: Uint8Array | undefined;

  const check = (entries: readonly PlacedEntry[]) => {
    const first = entries[0]!.entry.name;
    if (previous !== undefined && Buffer.compare(previous, first) >= 0) {
      throw new StorageError(
        "tree",
        "the nodes of a directory overlap: names come twice or out of order",
      );
    }
    for (const { entry } of entries) id.add(entry);
    previous = new Uint8Array(entries.at(-1)!.entry.name);
    checked += 1;
    if (checked === nodes.length) checkTreeId(id, treeId);
  };

  return {
    directory,
    async current(nodeSignal = signal) {
      for (;;) {
        const node = nodes[nodeIndex];
        if (node === undefined) return undefined;
        throwIfAborted(nodeSignal);
        const entries = await tree.entries(node, nodeSignal);
        // Before anything of the node is given to anyone.
        if (checked === nodeIndex) check(entries);
        const found = entries[entryIndex];
        if (found !== undefined) return found;
        nodeIndex += 1;
        entryIndex = 0;
      }
    },
    advance() {
      entryIndex += 1;
    },
  };
}

function checkTreeId(id: TreeIdHash, treeId: Uint8Array): void {
  if (equal(id.digest(), treeId)) return;
  throw new StorageError("tree", "a directory does not hold what its tree id says");
}
