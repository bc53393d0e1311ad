import {
  BODY_NONCE,
  type ChildKind,
  type RootKeys,
  bodyKeyOf,
  commitmentOf,
} from "./key-schedule.ts";
import { CHILD_OVERHEAD, PREFIX_LENGTH, TAG_LENGTH } from "../format/limits.ts";
import { encodeChildHeader, encodeRootHeader, rootOverhead } from "../format/header.ts";
import type { NaCl } from "./nacl.ts";
import { wrapContentKey } from "./wrap.ts";
import { writePrefix } from "../format/envelope.ts";

/**
 * Seals a leaf or node.
 *
 * @param blob receives the whole blob: 59 bytes longer than the plaintext, which may already lie
 *   in it at offset 59
 */
export function sealChild(
  naCl: NaCl,
  kind: ChildKind,
  contentKey: Uint8Array,
  plaintext: Uint8Array,
  blob: Uint8Array,
): void {
  writePrefix(blob, encodeChildHeader({ commitment: commitmentOf(contentKey) }));
  const bodyStart = CHILD_OVERHEAD - TAG_LENGTH;
  const bodyKey = bodyKeyOf(contentKey, blob.subarray(0, bodyStart), kind);
  naCl.seal(blob.subarray(bodyStart), plaintext, BODY_NONCE, bodyKey);
}

/**
 * Seals a root for the given public keys, in their order.
 *
 * @param blob receives the whole blob: `rootOverhead` bytes longer than the plaintext, which may
 *   already lie in it at that offset; by default fresh memory
 * @returns the blob
 * @throws StorageError `key` where a public key is of low order
 */
export function sealRoot(
  naCl: NaCl,
  { contentKey, ephemeralSecret }: RootKeys,
  publicKeys: readonly Uint8Array[],
  plaintext: Uint8Array,
  blob: Uint8Array = new Uint8Array(rootOverhead(publicKeys.length) + plaintext.length),
): Uint8Array {
  const { ephemeral, slots } = wrapContentKey(naCl, contentKey, ephemeralSecret, publicKeys);
  const header = encodeRootHeader({ commitment: commitmentOf(contentKey), ephemeral, slots });
  const bodyStart = PREFIX_LENGTH + header.length;
  writePrefix(blob, header);
  const bodyKey = bodyKeyOf(contentKey, blob.subarray(0, bodyStart), "root");
  naCl.seal(blob.subarray(bodyStart), plaintext, BODY_NONCE, bodyKey);
  return blob;
}
