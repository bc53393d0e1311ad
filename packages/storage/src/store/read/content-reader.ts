import { type LeafRange, allLeaves, leavesIn } from "../tree/walk.ts";
import { CHILD_OVERHEAD } from "../../format/limits.ts";
import type { BorrowedRoot, OpenedRoot } from "./read-root.ts";
import type { Progress } from "../options.ts";
import type { StoreContext } from "../context.ts";
import { addressOf } from "../../crypto/address.ts";
import { equal } from "../../bytes.ts";
import { plaintextLength } from "../../format/tree.ts";
import { readLeaves } from "./read-leaves.ts";
import { sealChild } from "../../crypto/seal.ts";
import { throwIfAborted } from "../../abort.ts";

/** The content under a root, inline or in a tree. */
export interface ContentReader {
  /** The range in order; each piece is valid until the next is requested. */
  pieces(range: ByteRange, reading: Reading): AsyncGenerator<Uint8Array>;
  /** Writes the range into memory of its length. */
  copyTo(result: Uint8Array<ArrayBuffer>, range: ByteRange, reading: Reading): Promise<void>;
  /** How many leading bytes the caller already has; see `StoredContent.matchingPrefix`. */
  matchingPrefix(have: ReadAt, whole: ByteRange, reading: Reading): Promise<number>;
}

/** One pass over the content, which can be stopped separately. */
export interface Reading {
  readonly concurrency: number;
  /** Fires with the caller's signal, or when `stop` is called. */
  readonly signal: AbortSignal;
  readonly stop: () => void;
  readonly onProgress: ((progress: Progress) => void) | undefined;
}

/** Bytes of the content: start inclusive, end exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
  /** The caller set no end, so the padding after the content is read and checked too. */
  readonly whole: boolean;
}

/**
 * Reads bytes that the caller already has.
 *
 * @param offset within the content
 * @param into to be filled; valid until the promise settles
 * @returns how many bytes there were; fewer than fit only at the end
 */
export type ReadAt = (offset: number, into: Uint8Array<ArrayBuffer>) => Promise<number>;

/**
 * Content that arrived with its root. It is read once from the buffer it was opened in, without a
 * copy; further reads fetch the root again.
 */
export function inlineContent(
  borrowed: BorrowedRoot,
  fetchAgain: (signal: AbortSignal) => Promise<BorrowedRoot>,
): ContentReader {
  let unread: BorrowedRoot | undefined = borrowed;
  const take = async (signal: AbortSignal): Promise<BorrowedRoot> => {
    throwIfAborted(signal);
    const taken = unread;
    unread = undefined;
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
  /** Verified leaves of a range, clipped to it. Ends all work if it is left early. */
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
    matchingPrefix: async (have, _, { signal }) => matchingLeaves(context, root, have, signal),
    pieces: (range, reading) => clipped(range, reading),
    async copyTo(result, range, reading) {
      // A leaf that is entirely within the range is opened straight into the result.
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

/** The leaves that a range of the content touches; reading all of it includes leaves of padding. */
function leavesOf({ shape }: OpenedRoot, { start, end, whole }: ByteRange): LeafRange {
  if (whole) return { ...allLeaves(shape), first: Math.floor(start / shape.chunkSize) };
  if (start === end) return { first: 0, end: 0 };
  return {
    first: Math.floor(start / shape.chunkSize),
    end: Math.ceil(end / shape.chunkSize),
  };
}

/** Bytes of the leading leaves that the caller has; each is sealed again with the known key. */
async function matchingLeaves(
  context: StoreContext,
  root: OpenedRoot,
  have: ReadAt,
  signal: AbortSignal,
): Promise<number> {
  const { shape, contentLength } = root;
  throwIfAborted(signal);

  // A buffer for sealing, because it ends up holding ciphertext.
  const buffer = context.writeBuffers.acquire(CHILD_OVERHEAD + shape.chunkSize);
  let matching = 0;
  for await (const { index, reference } of leavesIn(context, root, allLeaves(shape), signal)) {
    throwIfAborted(signal);
    const length = plaintextLength(shape, 1, index);
    const contentInLeaf = Math.min(length, contentLength - matching);
    if (contentInLeaf === 0) break;
    const blob = buffer.subarray(0, CHILD_OVERHEAD + length);
    const plaintext = blob.subarray(CHILD_OVERHEAD);
    const mine = plaintext.subarray(0, contentInLeaf);
    // On a mismatch here the buffer holds plaintext, so it is not returned to the pool.
    if ((await have(matching, mine)) !== contentInLeaf) return matching;
    plaintext.fill(0, contentInLeaf);
    sealChild(context.naCl, "leaf", reference.contentKey, plaintext, blob);
    if (addressOf(blob) !== reference.address) break;
    matching += contentInLeaf;
  }
  context.writeBuffers.release(buffer);
  return matching;
}
