import {
  BODY_NONCE,
  type BlobKind,
  type ChildKind,
  bodyKeyOf,
  commitmentOf,
} from "./key-schedule.ts";
import { type Envelope, splitEnvelope } from "../format/envelope.ts";
import { type KeyPair, unwrapContentKey } from "./wrap.ts";
import { decodeChildHeader, decodeRootHeader } from "../format/header.ts";
import type { NaCl } from "./nacl.ts";
import { StorageError } from "../errors.ts";
import { TAG_LENGTH } from "../format/limits.ts";
import { equal } from "../bytes.ts";

/** One sentence for every failed decryption: more would help only an attacker. */
const DECRYPTION_FAILED =
  "decryption failed: the blob was not sealed with the key it is opened with";

/**
 * Opens a leaf or node whose bytes match its address.
 *
 * @param into receives the plaintext if it has exactly its length; otherwise, and by default, the
 *   plaintext replaces the ciphertext in `blob`
 * @returns the plaintext, a view
 * @throws StorageError `format`, `commit`, `auth`
 */
export function openChild(
  naCl: NaCl,
  kind: ChildKind,
  contentKey: Uint8Array,
  blob: Uint8Array,
  into?: Uint8Array,
): Uint8Array {
  const envelope = splitEnvelope(blob);
  const { commitment } = decodeChildHeader(envelope.header);
  return openBody(naCl, kind, contentKey, commitment, envelope, into);
}

/**
 * Opens a root whose bytes match its address, in place.
 *
 * @returns the plaintext, a view of `blob`, and the number of recipients
 * @throws StorageError `format`, `no-match`, `commit`, `auth`
 */
export function openRoot(
  naCl: NaCl,
  blob: Uint8Array,
  keyPairs: readonly KeyPair[],
): { plaintext: Uint8Array; recipients: number } {
  const envelope = splitEnvelope(blob);
  const { commitment, ephemeral, slots } = decodeRootHeader(envelope.header);
  const contentKey = unwrapContentKey(naCl, ephemeral, slots, keyPairs);
  if (contentKey === undefined) {
    throw new StorageError("no-match", "none of the given identities opens this blob");
  }
  const plaintext = openBody(naCl, "root", contentKey, commitment, envelope);
  return { plaintext, recipients: slots.length };
}

function openBody(
  naCl: NaCl,
  kind: BlobKind,
  contentKey: Uint8Array,
  commitment: Uint8Array,
  { prefix, body }: Envelope,
  into?: Uint8Array,
): Uint8Array {
  // Before the body, because a secretbox can be made to open under two keys.
  if (!equal(commitmentOf(contentKey), commitment)) {
    throw new StorageError("commit", DECRYPTION_FAILED);
  }
  const inPlace = body.subarray(TAG_LENGTH);
  const plaintext = into?.length === inPlace.length ? into : inPlace;
  if (!naCl.open(plaintext, body, BODY_NONCE, bodyKeyOf(contentKey, prefix, kind))) {
    throw new StorageError("auth", DECRYPTION_FAILED);
  }
  return plaintext;
}
