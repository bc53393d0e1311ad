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
  /** The packs that it refers to, by anything that is the same for the same pack. */
  readonly packs: readonly (string | number)[];
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

/** Cuts the entries of one directory into nodes. Holds as many entries as one node may have. */
export interface NodeCutter<T extends Cuttable> {
  /**
   * Takes the next entry, in the order of names.
   *
   * @returns the nodes that end before it, or with it
   * @throws RangeError if it alone does not fit a node
   */
  add(entry: T): T[][];
  /** The nodes that are left. */
  end(): T[][];
}

/**
 * Begins to cut a directory. One that fits one node is not cut. A larger one is cut after names that
 * `isCutName` says, if the node has 128 entries, and before an entry that would make it too long or
 * refer to too many packs.
 */
export function nodeCutter<T extends Cuttable>(): NodeCutter<T> {
  // Of a directory that may yet fit one node, nothing is cut until it does not.
  let pending: T[] | undefined = [];
  const whole = measure();
  let entries: T[] = [];
  let size = measure();
  const end = (): T[][] => {
    const nodes = entries.length > 0 ? [entries] : [];
    entries = [];
    size = measure();
    return nodes;
  };
  const addToNode = (entry: T): T[][] => {
    const nodes = size.fitsWith(entry) ? [] : end();
    size.add(entry);
    if (!size.fits()) throw new RangeError("an entry does not fit a node");
    entries.push(entry);
    if (entries.length >= NODE_ENTRIES_MIN && isCutName(entry.name)) nodes.push(...end());
    return nodes;
  };
  return {
    add(entry) {
      if (pending === undefined) return addToNode(entry);
      whole.add(entry);
      pending.push(entry);
      if (pending.length <= NODE_ENTRIES_MAX && whole.fits()) return [];
      const early = pending;
      pending = undefined;
      return early.flatMap(addToNode);
    },
    end() {
      const nodes = pending === undefined || pending.length === 0 ? [] : [pending];
      pending = [];
      return [...nodes, ...end()];
    },
  };
}

function measure(): {
  add(entry: Cuttable): void;
  fits(): boolean;
  fitsWith(entry: Cuttable): boolean;
} {
  let length = ARRAY_HEAD_MAX;
  const packs = new Set<string | number>();
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
