import type { ByteRange, ContentReader, Reading } from "./content-reader.ts";
import { type LeafRange, allLeaves } from "./walk.ts";
import type { OpenedRoot } from "./read-root.ts";
import type { StoreContext } from "./context.ts";
import { matchingPrefix } from "./matching-prefix.ts";
import { readLeaves } from "./read-leaves.ts";

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
