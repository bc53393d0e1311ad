import {
  CUT_ONE_IN,
  NODE_ENTRIES_MAX,
  NODE_ENTRIES_MIN,
  NODE_MAX,
  NODE_PACKS_MAX,
} from "../limits.ts";
import { hash } from "@idk/storage/blobs";

/** What the cut of a directory into nodes depends on, of each of its entries. */
export interface Cuttable {
  readonly name: Uint8Array;
  /** Bytes of the encoded entry, at most. */
  readonly length: number;
  /** The packs that it refers to, by any text that is the same for the same pack. */
  readonly packs: readonly string[];
}

/** The longest head of the array of a node's entries. */
const ARRAY_HEAD_MAX = 5;

/**
 * Whether a large directory is cut after this name. It depends on nothing else, so that one new file
 * changes one node, and not all that follow.
 */
export function isCutName(name: Uint8Array): boolean {
  const digest = hash(name);
  return ((digest[0]! << 8) | digest[1]!) % CUT_ONE_IN === 0;
}

/**
 * Cuts the entries of a directory into nodes. Holds as many entries as one node may have.
 *
 * A directory that fits one node is not cut. A larger one is cut after names that `isCutName` says, if
 * the node has 128 entries, and before an entry that would make it too long or refer to too many packs.
 *
 * @param entries in the order of names
 * @returns the entries of one node after the other; none of an empty directory
 * @throws RangeError if one entry alone does not fit a node
 */
export function* cutIntoNodes<T extends Cuttable>(entries: Iterable<T>): Generator<T[]> {
  // Of a directory that may yet fit one node, nothing is cut until it does not.
  let pending: T[] = [];
  let isLarge = false;
  const whole = measure();
  let node = startNode<T>();
  for (const entry of entries) {
    if (!isLarge) {
      whole.add(entry);
      pending.push(entry);
      if (pending.length <= NODE_ENTRIES_MAX && whole.fits()) continue;
      isLarge = true;
      for (const early of pending) yield* node.add(early);
      pending = [];
    } else {
      yield* node.add(entry);
    }
  }
  if (pending.length > 0) yield pending;
  yield* node.end();
}

function startNode<T extends Cuttable>(): { add(entry: T): Generator<T[]>; end(): Generator<T[]> } {
  let entries: T[] = [];
  let size = measure();
  function* end(): Generator<T[]> {
    if (entries.length > 0) yield entries;
    entries = [];
    size = measure();
  }
  return {
    *add(entry) {
      if (!size.fitsWith(entry)) yield* end();
      size.add(entry);
      if (!size.fits()) throw new RangeError("an entry does not fit a node");
      entries.push(entry);
      if (entries.length >= NODE_ENTRIES_MIN && isCutName(entry.name)) yield* end();
    },
    end,
  };
}

function measure(): {
  add(entry: Cuttable): void;
  fits(): boolean;
  fitsWith(entry: Cuttable): boolean;
} {
  let length = ARRAY_HEAD_MAX;
  const packs = new Set<string>();
  return {
    add(entry) {
      length += entry.length;
      for (const pack of entry.packs) packs.add(pack);
    },
    fits: () => length <= NODE_MAX && packs.size <= NODE_PACKS_MAX,
    fitsWith(entry) {
      const added = new Set(entry.packs.filter((pack) => !packs.has(pack)));
      return length + entry.length <= NODE_MAX && packs.size + added.size <= NODE_PACKS_MAX;
    },
  };
}
