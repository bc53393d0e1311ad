import { CHILD_OVERHEAD, DEPTH_MAX, FANOUT, REFERENCE_LENGTH } from "../../format/limits.ts";
import { type Reference, writeReference } from "../../format/tree.ts";
import type { CallOptions } from "../options.ts";
import type { PutTally } from "./put-report.ts";
import type { StoreContext } from "../context.ts";
import { sealChunk } from "./seal-leaf.ts";
import { storeBlob } from "./store-blob.ts";
import { usage } from "../../errors.ts";

/**
 * Gathers the references of leaves in order, and stores nodes as they fill up, so that a tree of
 * any size takes one node of memory a level.
 */
export interface TreeWriter {
  /** Adds the next leaf. */
  add(leaf: Reference): Promise<void>;
  /** Stores what is left and returns the references of the top level, for the root. */
  finish(): Promise<{ depth: number; references: Uint8Array }>;
}

export interface TreeWriterOptions extends CallOptions {
  readonly tally?: PutTally | undefined;
}

interface Level {
  readonly references: Uint8Array;
  count: number;
}

export function createTreeWriter(
  { backend, naCl }: Pick<StoreContext, "backend" | "naCl">,
  dedupSecret: Uint8Array | undefined,
  options: TreeWriterOptions,
): TreeWriter {
  /** Index 0 gathers references to leaves, index 1 to nodes of leaves, and so on. */
  const levels: Level[] = [newLevel()];

  const append = async (height: number, reference: Reference): Promise<void> => {
    const level = levels[height]!;
    // Only when one more comes is it certain that the level does not fit into the root.
    if (level.count === FANOUT) await flush(height);
    writeReference(level.references, level.count, reference);
    level.count += 1;
  };

  const flush = async (height: number): Promise<void> => {
    if (height + 1 === DEPTH_MAX) throw usage("the content is too long for this chunk size");
    const level = levels[height]!;
    const plaintext = level.references.subarray(0, level.count * REFERENCE_LENGTH);
    const buffer = new Uint8Array(CHILD_OVERHEAD + plaintext.length);
    buffer.set(plaintext, CHILD_OVERHEAD);
    const inPlace = buffer.subarray(CHILD_OVERHEAD);
    const { reference, blob } = sealChunk(naCl, "node", inPlace, buffer, dedupSecret);
    const sent = await storeBlob(backend, reference.address, blob, {
      convergent: dedupSecret !== undefined,
      signal: options.signal,
    });
    options.tally?.node(sent, blob.length);
    level.count = 0;
    levels[height + 1] ??= newLevel();
    await append(height + 1, reference);
  };

  return {
    add: (leaf) => append(0, leaf),
    async finish() {
      // A level that has overflowed once belongs into nodes to its last reference.
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
