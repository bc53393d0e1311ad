import type { GetOptions } from "./get.ts";
import { throwIfAborted } from "../../abort.ts";
import type { LentRoot, OpenedRoot } from "./read-root.ts";
import { equal } from "../../bytes.ts";
import { type LeafRange, allLeaves, leavesIn } from "../tree/walk.ts";
import type { StoreContext } from "../context.ts";
import { readLeaves } from "./read-leaves.ts";
import { CHILD_OVERHEAD } from "../../format/limits.ts";
import { plaintextLength } from "../../format/tree.ts";
import { sealsTo } from "../write/seal-leaf.ts";

/** The content under a root, however it is kept there. */
export interface ContentReader {
  /** The content or its range in order; each piece is lent until the next is asked for. */
  pieces(range: ByteRange, reading: Reading): AsyncGenerator<Uint8Array>;
  /** Puts the range into memory of its length. */
  copyTo(result: Uint8Array<ArrayBuffer>, range: ByteRange, reading: Reading): Promise<void>;
  /** How many leading bytes the caller has already; see `StoredBlob.matchingPrefix`. */
  matchingPrefix(have: ReadAt, whole: ByteRange, reading: Reading): Promise<number>;
}

/** One pass over the content, with a switch of its own. */
export interface Reading {
  readonly concurrency: number;
  /** Fires when the caller's does, and when the reading is stopped. */
  readonly signal: AbortSignal;
  readonly stop: () => void;
  readonly onProgress: GetOptions["onProgress"];
}

/** Bytes of the content: start inclusive, end exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
  /** No end was asked for: what stands behind the content is read and checked as well. */
  readonly whole: boolean;
}

/**
 * Reads bytes that the caller has.
 *
 * @param offset within the content
 * @param into is to be filled; lent until the promise settles
 * @returns how many bytes there were; fewer than there is room for only at the end
 */
export type ReadAt = (offset: number, into: Uint8Array<ArrayBuffer>) => Promise<number>;

/**
 * Content that came with its root. It stays where it was opened and is handed out once, without a
 * copy; whoever reads it again has the root fetched again, as chunks are.
 */
export function inlineContent(
  lent: LentRoot,
  fetchAgain: (signal: AbortSignal) => Promise<LentRoot>,
): ContentReader {
  let held: LentRoot | undefined = lent;
  const take = async (signal: AbortSignal): Promise<LentRoot> => {
    throwIfAborted(signal);
    const taken = held;
    held = undefined;
    return taken ?? fetchAgain(signal);
  };
  return {
    async matchingPrefix(have, { start, end }, { signal }) {
      const { root, release } = await take(signal);
      const mine = new Uint8Array(end - start);
      const matches = (await have(start, mine)) === mine.length && equal(mine, root.body);
      release();
      return matches ? mine.length : 0;
    },
    async *pieces({ start, end }, { signal, onProgress }) {
      const { root, release } = await take(signal);
      onProgress?.({ bytes: end - start, total: end - start, chunks: 0 });
      if (end > start) yield root.body.subarray(start, end);
      release();
    },
    async copyTo(result, { start, end }, { signal, onProgress }) {
      const { root, release } = await take(signal);
      onProgress?.({ bytes: end - start, total: end - start, chunks: 0 });
      result.set(root.body.subarray(start, end));
      release();
    },
  };
}

/** Content in the leaves of a tree, which are fetched when it is read. */
export function treeContent(context: StoreContext, root: OpenedRoot): ContentReader {
  /** Verified leaves of a range, clipped to it. Ends all work when it is left early. */
  async function* clipped(
    range: ByteRange,
    { signal, stop, concurrency, onProgress }: Reading,
    into?: (start: number, length: number) => Uint8Array<ArrayBuffer> | undefined,
  ): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const { chunkSize } = root.shape;
    const leaves = readLeaves(context, root, leavesOf(root, range), {
      concurrency,
      signal,
      ...(into && { into: (index, length) => into(index * chunkSize - range.start, length) }),
    });
    const total = range.end - range.start;
    let bytes = 0;
    let chunks = 0;
    try {
      for await (const leaf of leaves) {
        const leafStart = leaf.index * chunkSize;
        const from = Math.max(0, range.start - leafStart);
        const piece = leaf.content.subarray(from, range.end - leafStart);
        yield piece;
        leaf.release();
        bytes += piece.length;
        chunks += 1;
        onProgress?.({ bytes, total, chunks });
      }
    } finally {
      stop();
    }
  }

  return {
    matchingPrefix: async (have, _, { signal }) => matchingPrefix(context, root, have, signal),
    pieces: (range, reading) => clipped(range, reading),
    async copyTo(result, range, reading) {
      // A leaf that lies whole within the range is opened straight into the result.
      const into = (start: number, length: number) =>
        start >= 0 && start + length <= result.length
          ? result.subarray(start, start + length)
          : undefined;
      let offset = 0;
      for await (const piece of clipped(range, reading, into)) {
        if (piece.buffer !== result.buffer) result.set(piece, offset);
        offset += piece.length;
      }
    },
  };
}

/** The leaves that a range of the content touches; to read all of it is to check its padding too. */
function leavesOf({ shape }: OpenedRoot, { start, end, whole }: ByteRange): LeafRange {
  if (whole) return { ...allLeaves(shape), first: Math.floor(start / shape.chunkSize) };
  if (start === end) return { first: 0, end: 0 };
  return {
    first: Math.floor(start / shape.chunkSize),
    end: Math.ceil(end / shape.chunkSize),
  };
}

/** How much of a tree's content the caller has already; see `StoredBlob.matchingPrefix`. */
export async function matchingPrefix(
  context: StoreContext,
  root: OpenedRoot,
  have: ReadAt,
  signal: AbortSignal,
): Promise<number> {
  const { shape, contentLength } = root;
  throwIfAborted(signal);

  // Of those that are sealed into: what it holds in the end is ciphertext.
  const buffer = context.writeBuffers.acquire(CHILD_OVERHEAD + shape.chunkSize);
  let matching = 0;
  for await (const { index, reference } of leavesIn(context, root, allLeaves(shape), signal)) {
    throwIfAborted(signal);
    const length = plaintextLength(shape, 1, index);
    const contentInLeaf = Math.min(length, contentLength - matching);
    if (contentInLeaf === 0) break;
    const plaintext = buffer.subarray(CHILD_OVERHEAD, CHILD_OVERHEAD + length);
    const mine = plaintext.subarray(0, contentInLeaf);
    // The buffer holds plaintext now: it goes to nobody else.
    if ((await have(matching, mine)) !== contentInLeaf) return matching;
    plaintext.fill(0, contentInLeaf);
    if (!sealsTo(context.naCl, reference, plaintext, buffer.subarray(0, CHILD_OVERHEAD + length)))
      break;
    matching += contentInLeaf;
  }
  context.writeBuffers.release(buffer);
  return matching;
}
