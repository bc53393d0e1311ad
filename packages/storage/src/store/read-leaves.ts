import { throwIfAborted } from "../abort.ts";
import { type Child, type LeafRange, fetchChild, leavesIn } from "./walk.ts";
import { CHILD_OVERHEAD } from "../format/limits.ts";
import type { OpenedRoot } from "./read-root.ts";
import { StorageError } from "../errors.ts";
import type { StoreContext } from "./context.ts";
import { WORTH_WORKERS } from "./workers/pool.ts";
import { fetchLeaf } from "./workers/fetch-leaf.ts";
import { onlyZeros } from "../bytes.ts";
import { pMapIterable } from "p-map";
import { plaintextLength } from "../format/shape.ts";

/** A leaf that passed every check. */
export interface OpenedLeaf {
  readonly index: number;
  /** Its content without stream padding; empty for a leaf of padding alone. */
  readonly content: Uint8Array<ArrayBuffer>;
  /** Allows the leaf's memory to be used again, once. Its content is not looked at afterwards. */
  release(): void;
}

export interface ReadLeavesOptions {
  readonly concurrency: number;
  readonly signal: AbortSignal;
  /** Where a leaf's content goes that has exactly this length; by default memory of the store's. */
  readonly into?: (index: number, length: number) => Uint8Array<ArrayBuffer> | undefined;
}

/**
 * Opens leaves in the order of the stream, several at once and ahead of the reader. After a fault
 * the leaves before it still come, and then the error.
 */
export function readLeaves(
  context: StoreContext,
  root: OpenedRoot,
  range: LeafRange,
  options: ReadLeavesOptions,
): AsyncIterable<OpenedLeaf> {
  const { readBuffers } = context;
  const { shape, contentLength } = root;

  const worthWorkers = (range.end - range.first) * shape.chunkSize >= WORTH_WORKERS;

  const open = async (leaf: Child): Promise<OpenedLeaf> => {
    const { index } = leaf;
    const length = plaintextLength(shape, 1, index);
    const contentInLeaf = Math.max(0, Math.min(length, contentLength - index * shape.chunkSize));
    throwIfAborted(options.signal);
    const lent = readBuffers.acquire(CHILD_OVERHEAD + shape.chunkSize);
    const into = contentInLeaf === length ? options.into?.(index, length) : undefined;
    const workers = worthWorkers ? await context.workers?.ready() : undefined;
    const { plaintext, buffer } = workers
      ? await fetchLeaf(context, workers, leaf, length, lent, options.signal, into)
      : {
          plaintext: await fetchChild(context, leaf, length, lent, options.signal, into),
          buffer: lent,
        };
    if (!onlyZeros(plaintext.subarray(contentInLeaf))) {
      throw new StorageError("tree", "the padding behind the content is not zero");
    }
    return {
      index,
      content: plaintext.subarray(0, contentInLeaf),
      release: () => readBuffers.release(buffer),
    };
  };

  const leaves = leavesIn(context, root, range, options.signal);
  return pMapIterable(leaves, open, { concurrency: options.concurrency });
}
