import { type LeafRange, allLeaves } from "../tree/walk.ts";
import { type ReadAt, matchingLeaves } from "./matching-prefix.ts";
import type { BorrowedRoot, OpenedRoot } from "./read-root.ts";
import type { Progress } from "../options.ts";
import type { StoreContext } from "../context.ts";
import { equal } from "../../bytes.ts";
import { readLeaves } from "./read-leaves.ts";
import { throwIfAborted } from "../../abort.ts";

/** The content under a root, inline or in a tree. */
export interface ContentReader {
  /** The range in order, leaf by leaf; each chunk is valid until the next is requested. */
  chunks(range: ByteRange, reading: Reading): AsyncGenerator<Uint8Array>;
  /** Writes the range into memory of its length. */
  copyTo(result: Uint8Array<ArrayBuffer>, range: ByteRange, reading: Reading): Promise<void>;
  /** How many leading bytes the caller already has; see `StoredContent.matchingPrefix`. */
  matchingPrefix(have: ReadAt, whole: ByteRange, reading: Reading): Promise<number>;
}

/** One pass over the content, which can be stopped separately. */
export interface Reading {
  /** The most chunks in flight, if the caller has set it. */
  readonly concurrency: number | undefined;
  /** Fires with the caller's signal, or when `stop` is called. */
  readonly signal: AbortSignal;
  readonly stop: () => void;
  /** Detaches from the caller's signal. Either this or `stop` must always be called. */
  readonly end: () => void;
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
 * Content that arrived with its root. It is read once from the buffer it was opened in, without a
 * copy; further reads fetch the root again.
 */
export function inlineContent(
  borrowed: BorrowedRoot,
  borrowAgain: (signal: AbortSignal) => Promise<BorrowedRoot>,
): ContentReader {
  let unread: BorrowedRoot | undefined = borrowed;
  const take = async (signal: AbortSignal): Promise<BorrowedRoot> => {
    throwIfAborted(signal);
    const taken = unread;
    unread = undefined;
    return taken ?? borrowAgain(signal);
  };
  return {
    async matchingPrefix(have, { start, end }, { signal }) {
      const { root, release } = await take(signal);
      const mine = new Uint8Array(end - start);
      const matches = (await have(start, mine)) === mine.length && equal(mine, root.body);
      release();
      return matches ? mine.length : 0;
    },
    async *chunks({ start, end }, { signal, onProgress }) {
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
  async function* clippedLeaves(
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
        const chunk = leaf.content.subarray(from, range.end - leafStart);
        yield chunk;
        leaf.release();
        bytes += chunk.length;
        chunks += 1;
        onProgress?.({ bytes, total, chunks });
      }
    } finally {
      stop();
    }
  }

  return {
    matchingPrefix: async (have, _, { signal }) => matchingLeaves(context, root, have, signal),
    chunks: (range, reading) => clippedLeaves(range, reading),
    async copyTo(result, range, reading) {
      // A leaf that is entirely within the range is opened straight into the result.
      const into = (start: number, length: number) =>
        start >= 0 && start + length <= result.length
          ? result.subarray(start, start + length)
          : undefined;
      let offset = 0;
      for await (const chunk of clippedLeaves(range, reading, into)) {
        if (chunk.buffer !== result.buffer) result.set(chunk, offset);
        offset += chunk.length;
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
