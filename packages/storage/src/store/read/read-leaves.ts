import { type Child, type LeafRange, leavesIn } from "../tree/walk.ts";
import {
  type ChildRequest,
  downloadVerified,
  failReported,
  fetchChild,
  wrongLength,
} from "./fetch.ts";
import { type ReadyWorkers, WORKERS_MIN_BYTES } from "../workers/pool.ts";
import type { Backend } from "../../backend/backend.ts";
import { CALLS_MAX } from "../flow/controller.ts";
import { leafMemory } from "../flow/budget.ts";
import { CHILD_OVERHEAD } from "../../format/limits.ts";
import type { OpenedRoot } from "./read-root.ts";
import { StorageError, isTooLong } from "../../errors.ts";
import type { StoreContext } from "../context.ts";
import { onlyZeros } from "../../bytes.ts";
import { plaintextLength } from "../../format/tree.ts";
import { throwIfAborted } from "../../abort.ts";

/** A leaf that passed every check. */
export interface OpenedLeaf {
  readonly index: number;
  readonly address: string;
  /** Its content without the padding; empty for a leaf of padding alone. */
  readonly content: Uint8Array<ArrayBuffer>;
  /** Returns the leaf's memory to the store. Call it once; the content is invalid afterwards. */
  release(): void;
}

export interface ReadLeavesOptions {
  /** The most leaves in flight, if the caller has set it. */
  readonly concurrency: number | undefined;
  readonly signal: AbortSignal;
  /** Memory for a leaf that has exactly this much content; by default the store's own. */
  readonly into?: (index: number, length: number) => Uint8Array<ArrayBuffer> | undefined;
}

/**
 * Opens leaves concurrently and yields them in content order. If one is faulty, the leaves before it
 * are still yielded, and then the error is thrown.
 */
export function readLeaves(
  context: StoreContext,
  root: OpenedRoot,
  range: LeafRange,
  options: ReadLeavesOptions,
): AsyncIterable<OpenedLeaf> {
  const { readBuffers } = context;
  const { shape, contentLength } = root;
  const { signal } = options;
  const large = (range.end - range.first) * shape.chunkSize >= WORKERS_MIN_BYTES;

  const openLeaf = async ({ index, reference }: Child, backend: Backend): Promise<OpenedLeaf> => {
    const length = plaintextLength(shape, 1, index);
    const contentInLeaf = Math.max(0, Math.min(length, contentLength - index * shape.chunkSize));
    throwIfAborted(signal);
    const acquired = readBuffers.acquire(CHILD_OVERHEAD + shape.chunkSize);
    const into = contentInLeaf === length ? options.into?.(index, length) : undefined;
    const request = { kind: "leaf", reference, length, buffer: acquired, into, signal } as const;
    const workers = large ? await context.workers?.ready() : undefined;
    const { plaintext, buffer } = workers
      ? await fetchWithWorkers({ ...context, backend }, workers, request)
      : { plaintext: await fetchChild({ ...context, backend }, request), buffer: acquired };
    if (!onlyZeros(plaintext.subarray(contentInLeaf))) {
      throw new StorageError("tree", "the padding after the content is not zero");
    }
    return {
      index,
      address: reference.address,
      content: plaintext.subarray(0, contentInLeaf),
      release: () => readBuffers.release(buffer),
    };
  };

  const leaves = leavesIn(context, root, range, signal);
  return context.flows.readLeaves.map(leaves, openLeaf, {
    most: options.concurrency ?? CALLS_MAX,
    itemBytes: leafMemory(shape.chunkSize),
    signal,
  });
}

/**
 * Fetches a leaf in this thread and has a worker verify and open it; otherwise as `fetchChild`. The
 * request's buffer is given away: the result has a new one over the same memory.
 */
async function fetchWithWorkers(
  context: StoreContext,
  workers: ReadyWorkers,
  request: ChildRequest,
): Promise<{ plaintext: Uint8Array<ArrayBuffer>; buffer: Uint8Array<ArrayBuffer> }> {
  const { backend } = context;
  const { length, into, signal } = request;
  const { address, contentKey } = request.reference;
  // A copy of the key: sending a view would send all the references around it.
  const reference = { address, contentKey: new Uint8Array(contentKey) };
  let { buffer } = request;
  const attempt = async () => {
    const stored = await backend.get(address, buffer, { signal }).catch(failReported);
    const outcome = await workers.open({ buffer, length: stored, reference });
    buffer = outcome.buffer;
    return outcome.plaintext;
  };
  let opened: Awaited<ReturnType<typeof attempt>> & {};
  try {
    opened = await downloadVerified(backend, address, attempt);
  } catch (error) {
    if (!isTooLong(error)) throw error;
    // Too long: `fetchChild` downloads it with room for any child and finds the fault.
    const plaintext = await fetchChild(context, { ...request, buffer });
    return { plaintext, buffer };
  }
  if ("code" in opened) throw new StorageError(opened.code, opened.message);
  if (opened.length !== length) throw wrongLength("leaf", address);
  const plaintext = buffer.subarray(opened.start, opened.start + opened.length);
  if (into === undefined) return { plaintext, buffer };
  // After an abort, `into` belongs to the caller again.
  throwIfAborted(signal);
  into.set(plaintext);
  return { plaintext: into, buffer };
}
