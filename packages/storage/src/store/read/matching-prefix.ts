import { CHILD_OVERHEAD } from "../../format/limits.ts";
import type { OpenedRoot } from "./read-root.ts";
import type { StoreContext } from "../context.ts";
import { addressOf } from "../../crypto/address.ts";
import { plaintextLength } from "../../format/tree.ts";
import { sealChild } from "../../crypto/seal.ts";
import { throwIfAborted } from "../../abort.ts";
import { allLeaves, leavesIn } from "../tree/walk.ts";

/**
 * Reads bytes that the caller already has.
 *
 * @param offset within the content
 * @param into to be filled; valid until the promise settles
 * @returns how many bytes there were; fewer than fit only at the end
 */
export type ReadAt = (offset: number, into: Uint8Array<ArrayBuffer>) => Promise<number>;

/**
 * Bytes of the leading leaves that the caller has. Each leaf is sealed again with its key from the
 * tree and compared by address, so no leaf is fetched.
 */
export async function matchingLeaves(
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
