import { CHILD_OVERHEAD, DEPTH_MAX, FANOUT, REFERENCE_LENGTH } from "../../format/limits.ts";
import { type Reference, writeReference } from "../../format/tree.ts";
import type { StoreContext } from "../context.ts";
import type { TalliedOptions } from "./put-report.ts";
import { sealNode } from "./seal-leaf.ts";
import { storeBlob } from "./store-blob.ts";
import { usage } from "../../errors.ts";

/**
 * Collects the references to leaves in order and stores nodes as they fill up, so that a tree of any
 * size takes the memory of one node per level.
 */
export interface TreeWriter {
  /** Adds the next leaf. */
  add(leaf: Reference): Promise<void>;
  /** Stores the remaining nodes and returns the references of the top level, for the root. */
  finish(): Promise<{ depth: number; references: Uint8Array }>;
}

interface Level {
  readonly references: Uint8Array;
  count: number;
}

export function createTreeWriter(
  { backend, naCl }: Pick<StoreContext, "backend" | "naCl">,
  dedupSecret: Uint8Array | undefined,
  { signal, tally }: TalliedOptions,
): TreeWriter {
  /** Index 0 holds references to leaves, index 1 to nodes of leaves, and so on. */
  const levels: Level[] = [newLevel()];

  const append = async (height: number, reference: Reference): Promise<void> => {
    const level = levels[height]!;
    // Only one more reference proves that the level does not fit into the root.
    if (level.count === FANOUT) await flush(height);
    writeReference(level.references, level.count, reference);
    level.count += 1;
  };

  const flush = async (height: number): Promise<void> => {
    if (height + 1 === DEPTH_MAX) throw usage("the content is too long for this chunk size");
    const level = levels[height]!;
    const references = level.references.subarray(0, level.count * REFERENCE_LENGTH);
    const buffer = new Uint8Array(CHILD_OVERHEAD + references.length);
    buffer.set(references, CHILD_OVERHEAD);
    const plaintext = buffer.subarray(CHILD_OVERHEAD);
    const { reference, blob } = sealNode(naCl, { plaintext, buffer, dedupSecret });
    const convergent = dedupSecret !== undefined;
    const sent = await storeBlob(backend, reference.address, blob, { convergent, signal });
    tally?.node(sent, blob.length);
    level.count = 0;
    levels[height + 1] ??= newLevel();
    await append(height + 1, reference);
  };

  return {
    add: (leaf) => append(0, leaf),
    async finish() {
      // In a level that has overflowed once, all references belong in nodes.
      for (let height = 0; height < levels.length - 1; height++) await flush(height);
      const top = levels.at(-1)!;
      return {
        depth: levels.length,
        references: top.references.subarray(0, top.count * REFERENCE_LENGTH),
      };
    },
  };
}

function newLevel(): Level {
  return { references: new Uint8Array(FANOUT * REFERENCE_LENGTH), count: 0 };
}
