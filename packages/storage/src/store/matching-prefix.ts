import { throwIfAborted } from "../abort.ts";
import { CHILD_OVERHEAD } from "../format/limits.ts";
import type { OpenedRoot } from "./read-root.ts";
import type { ReadAt } from "./get-options.ts";
import type { StoreContext } from "./context.ts";
import { allLeaves, leavesIn } from "./walk.ts";
import { plaintextLength } from "../format/shape.ts";
import { sealsTo } from "./known-leaf.ts";

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
