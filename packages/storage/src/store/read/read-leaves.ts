import { throwIfAborted } from "../../abort.ts";
import { type Child, type LeafRange, leavesIn } from "../tree/walk.ts";
import { fetchChild, untilIntact, wrongLength } from "./fetch.ts";
import { CHILD_OVERHEAD } from "../../format/limits.ts";
import type { OpenedRoot } from "./read-root.ts";
import { StorageError } from "../../errors.ts";
import type { StoreContext } from "../context.ts";
import { type ReadyWorkers, WORTH_WORKERS } from "../workers/pool.ts";
import { onlyZeros } from "../../bytes.ts";
import { pMapIterable } from "p-map";
import { plaintextLength } from "../../format/tree.ts";

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

/**
 * Fetches a leaf here, and has it verified and opened by a worker; otherwise as `fetchChild`.
 *
 * @param buffer is given away: the result has another one over the same memory
 */
export async function fetchLeaf(
  context: StoreContext,
  workers: ReadyWorkers,
  leaf: Child,
  length: number,
  buffer: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
  into: Uint8Array<ArrayBuffer> | undefined,
): Promise<{ plaintext: Uint8Array<ArrayBuffer>; buffer: Uint8Array<ArrayBuffer> }> {
  const { backend } = context;
  const { address, contentKey } = leaf.reference;
  // A key of its own: with a view, all the references around it would go to the thread as well.
  const reference = { address, contentKey: new Uint8Array(contentKey) };
  let current = buffer;
  const attempt = async () => {
    const stored = await backend.get(address, current, { signal });
    const outcome = await workers.open({ buffer: current, length: stored, reference });
    current = outcome.buffer;
    return outcome.plaintext;
  };
  let opened: Awaited<ReturnType<typeof attempt>> & {};
  try {
    opened = await untilIntact(backend, address, attempt);
  } catch (error) {
    if (!(error instanceof StorageError && error.code === "limit")) throw error;
    // Longer than it can be: what is wrong with it is found out where there is more room.
    const plaintext = await fetchChild(context, leaf, length, current, signal, into);
    return { plaintext, buffer: current };
  }
  if ("code" in opened) throw new StorageError(opened.code, opened.message);
  if (opened.length !== length) throw wrongLength("leaf", address);
  const inBuffer = current.subarray(opened.start, opened.start + opened.length);
  if (into === undefined) return { plaintext: inBuffer, buffer: current };
  // Whoever reads has given up: the memory is the caller's again.
  throwIfAborted(signal);
  into.set(inBuffer);
  return { plaintext: into, buffer: current };
}
