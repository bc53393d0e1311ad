import { type ChildKind, convergentChildKey, randomKey } from "../crypto/key-schedule.ts";
import { CHILD_OVERHEAD } from "../format/limits.ts";
import type { NaCl } from "../crypto/nacl.ts";
import type { Reference } from "../format/reference.ts";
import { addressOf } from "../content/address.ts";
import { sealChild } from "../crypto/seal.ts";

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
