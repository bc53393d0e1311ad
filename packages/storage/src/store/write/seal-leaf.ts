import { type ChildKind, convergentChildKey, randomKey } from "../../crypto/key-schedule.ts";
import { CHILD_OVERHEAD } from "../../format/limits.ts";
import type { NaCl } from "../../crypto/nacl.ts";
import type { Reference } from "../../format/tree.ts";
import { addressOf } from "../../content/address.ts";
import { openChild, sealChild } from "../../crypto/seal.ts";
import { equal } from "../../bytes.ts";

/** A sealed leaf or node, ready to be stored. */
export interface SealedChunk {
  readonly reference: Reference;
  /** The whole blob; a view of the buffer it was sealed in. */
  readonly blob: Uint8Array;
}

/**
 * Seals one leaf or node under a key of its own.
 *
 * @param plaintext with a dedup secret it must already lie in the buffer, at offset 59: nobody
 *   else may be able to change it between hashing and sealing, or one key would seal two plaintexts
 * @param buffer at least 59 bytes longer than the plaintext
 */
export function sealChunk(
  naCl: NaCl,
  kind: ChildKind,
  plaintext: Uint8Array,
  buffer: Uint8Array,
  dedupSecret: Uint8Array | undefined,
): SealedChunk {
  const contentKey = dedupSecret ? convergentChildKey(dedupSecret, kind, plaintext) : randomKey();
  const blob = buffer.subarray(0, CHILD_OVERHEAD + plaintext.length);
  sealChild(naCl, kind, contentKey, plaintext, blob);
  return { reference: { address: addressOf(blob), contentKey }, blob };
}

/** A leaf ready to be stored, if it is not stored already. */
export interface SealedLeaf extends SealedChunk {
  /** An earlier run stored exactly this blob. */
  readonly storedBefore: boolean;
}

/**
 * Seals a leaf as `sealChunk` does; where an earlier run sealed the same plaintext, with the same
 * result. With a dedup secret the key is the plaintext's own in any case, and what is known only
 * says whether that run stored the leaf.
 *
 * One key still seals one plaintext: what was sealed with a key that was known, and does not have
 * the address that goes with it, is overwritten here and seen by nobody.
 *
 * @param known what an earlier run stored in this place
 */
export function sealLeaf(
  naCl: NaCl,
  plaintext: Uint8Array,
  buffer: Uint8Array,
  dedupSecret: Uint8Array | undefined,
  known: Reference | undefined,
): SealedLeaf {
  if (dedupSecret !== undefined) {
    const sealed = sealChunk(naCl, "leaf", plaintext, buffer, dedupSecret);
    return { ...sealed, storedBefore: known !== undefined && isSame(known, sealed.reference) };
  }
  if (known !== undefined) {
    const blob = buffer.subarray(0, CHILD_OVERHEAD + plaintext.length);
    if (sealsTo(naCl, known, plaintext, blob))
      return { reference: known, blob, storedBefore: true };
    // Where the plaintext lay in the buffer it was sealed over itself.
    if (plaintext.buffer === buffer.buffer) openChild(naCl, "leaf", known.contentKey, blob);
  }
  return { ...sealChunk(naCl, "leaf", plaintext, buffer, undefined), storedBefore: false };
}

function isSame(a: Reference, b: Reference): boolean {
  return a.address === b.address && equal(a.contentKey, b.contentKey);
}

/**
 * Whether a plaintext is that of the leaf a reference leads to, found out without the store: with one
 * key it gives one blob, of one address.
 *
 * @param plaintext may lie in the blob, at offset 59, and then is sealed over itself
 * @param blob receives the sealed leaf: 59 bytes longer than the plaintext
 */
export function sealsTo(
  naCl: NaCl,
  { address, contentKey }: Reference,
  plaintext: Uint8Array,
  blob: Uint8Array,
): boolean {
  sealChild(naCl, "leaf", contentKey, plaintext, blob);
  return addressOf(blob) === address;
}
