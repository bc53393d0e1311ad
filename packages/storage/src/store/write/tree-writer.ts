import { CHILD_OVERHEAD, DEPTH_MAX, FANOUT, REFERENCE_LENGTH } from "../../format/limits.ts";
import { type Reference, writeReference } from "../../format/tree.ts";
import type { StoreContext } from "../context.ts";
import type { CountedOptions } from "./put-report.ts";
import { sealNewChild } from "./seal-child.ts";
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

/** References to blobs of one level that are not in a node yet. */
interface PendingReferences {
  readonly bytes: Uint8Array;
  count: number;
}

export function createTreeWriter(
  context: Pick<StoreContext, "backend" | "measuring" | "naCl">,
  dedupSecret: Uint8Array | undefined,
  { signal, counters }: CountedOptions,
): TreeWriter {
  /** By level: leaves, which are level 1, are at index 0. */
  const pending: PendingReferences[] = [noReferences()];

  /** Adds a reference to a blob of this level. */
  const append = async (level: number, reference: Reference): Promise<void> => {
    const references = pending[level - 1]!;
    // Only one more reference proves that the level does not fit into the root.
    if (references.count === FANOUT) await flush(level);
    writeReference(references.bytes, references.count, reference);
    references.count += 1;
  };

  /** Stores the references to blobs of this level in a node of the next level. */
  const flush = async (level: number): Promise<void> => {
    if (level === DEPTH_MAX) throw usage("the content is too long for this chunk size");
    const { bytes, count } = pending[level - 1]!;
    const references = bytes.subarray(0, count * REFERENCE_LENGTH);
    const buffer = new Uint8Array(CHILD_OVERHEAD + references.length);
    buffer.set(references, CHILD_OVERHEAD);
    const plaintext = buffer.subarray(CHILD_OVERHEAD);
    const { reference, blob } = sealNewChild(context.naCl, "node", {
      plaintext,
      buffer,
      dedupSecret,
    });
    const convergent = dedupSecret !== undefined;
    const sent = await storeBlob(context, reference.address, blob, { convergent, signal });
    counters?.node(sent, blob.length);
    pending[level - 1]!.count = 0;
    pending[level] ??= noReferences();
    await append(level + 1, reference);
  };

  return {
    add: (leaf) => append(1, leaf),
    async finish() {
      // In a level that has overflowed once, all references belong in nodes.
      for (let level = 1; level < pending.length; level++) await flush(level);
      const { bytes, count } = pending.at(-1)!;
      return { depth: pending.length, references: bytes.subarray(0, count * REFERENCE_LENGTH) };
    },
  };
}

function noReferences(): PendingReferences {
  return { bytes: new Uint8Array(FANOUT * REFERENCE_LENGTH), count: 0 };
}
