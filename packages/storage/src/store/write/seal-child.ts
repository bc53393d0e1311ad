import { type ChildKind, convergentChildKey, randomKey } from "../../crypto/key-schedule.ts";
import { openChild, sealChild } from "../../crypto/seal.ts";
import { CHILD_OVERHEAD } from "../../format/limits.ts";
import type { NaCl } from "../../crypto/nacl/nacl.ts";
import type { Reference } from "../../format/tree.ts";
import { addressOf } from "../../crypto/address.ts";
import { equal } from "../../bytes.ts";

/** A leaf or node to seal. */
export interface UnsealedChild {
  /**
   * With a dedup secret, the plaintext must already be in the buffer at offset `CHILD_OVERHEAD`. No
   * one else may change it between hashing and sealing, or one key would seal two plaintexts.
   */
  readonly plaintext: Uint8Array;
  /** Receives the blob: at least `CHILD_OVERHEAD` bytes longer than the plaintext. */
  readonly buffer: Uint8Array;
  readonly dedupSecret: Uint8Array | undefined;
}

export interface UnsealedLeaf extends UnsealedChild {
  /** The leaf that an earlier run stored at this index. */
  readonly known: Reference | undefined;
}

/** A sealed leaf or node, ready to be stored. */
export interface SealedChild {
  readonly reference: Reference;
  /** The whole blob; a view of the buffer it was sealed in. */
  readonly blob: Uint8Array;
}

export interface SealedLeaf extends SealedChild {
  /** An earlier run stored exactly this blob. */
  readonly storedBefore: boolean;
}

/**
 * Seals a leaf. If an earlier run sealed the same plaintext, the result is the same blob. With a
 * dedup secret the key follows from the plaintext in any case, and `known` only determines whether
 * that run stored the leaf.
 *
 * One key still seals only one plaintext: if sealing with the known key does not give the known
 * address, the result is overwritten here and never leaves this function.
 */
export function sealLeaf(naCl: NaCl, leaf: UnsealedLeaf): SealedLeaf {
  const { plaintext, buffer, dedupSecret, known } = leaf;
  if (known !== undefined && dedupSecret === undefined) {
    const blob = buffer.subarray(0, CHILD_OVERHEAD + plaintext.length);
    sealChild(naCl, "leaf", known.contentKey, plaintext, blob);
    if (addressOf(blob) === known.address) return { reference: known, blob, storedBefore: true };
    // If the plaintext was in the buffer, it has been sealed in place: restore it.
    if (plaintext.buffer === buffer.buffer) openChild(naCl, "leaf", known.contentKey, blob);
  }
  const sealed = sealNewChild(naCl, "leaf", leaf);
  const storedBefore =
    known !== undefined && dedupSecret !== undefined && isSame(known, sealed.reference);
  return { ...sealed, storedBefore };
}

/** Seals a leaf or node under its own key: a random one, or the one that the dedup secret gives. */
export function sealNewChild(
  naCl: NaCl,
  kind: ChildKind,
  { plaintext, buffer, dedupSecret }: UnsealedChild,
): SealedChild {
  const contentKey = dedupSecret ? convergentChildKey(dedupSecret, kind, plaintext) : randomKey();
  const blob = buffer.subarray(0, CHILD_OVERHEAD + plaintext.length);
  sealChild(naCl, kind, contentKey, plaintext, blob);
  return { reference: { address: addressOf(blob), contentKey }, blob };
}

function isSame(a: Reference, b: Reference): boolean {
  return a.address === b.address && equal(a.contentKey, b.contentKey);
}
