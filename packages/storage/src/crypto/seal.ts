import {
  BODY_NONCE,
  type BlobKind,
  type ChildKind,
  type RootKeys,
  bodyKeyOf,
  commitmentOf,
} from "./key-schedule.ts";
import { CHILD_OVERHEAD, PREAMBLE_LENGTH, TAG_LENGTH } from "../format/limits.ts";
import {
  type Envelope,
  decodeChildHeader,
  decodeRootHeader,
  encodeChildHeader,
  encodeRootHeader,
  rootOverhead,
  splitEnvelope,
  writePrefix,
} from "../format/envelope.ts";
import type { NaCl } from "./nacl/nacl.ts";
import { type KeyPair, unwrapContentKey, wrapContentKey } from "./wrap-key.ts";
import type { Reference } from "../format/tree.ts";
import { StorageError } from "../errors.ts";
import { addressOf } from "./address.ts";
import { equal, toHex } from "../bytes.ts";
import { type Hashing, startSha256 } from "./hash.ts";

/**
 * Seals a leaf or node.
 *
 * @param blob receives the whole blob: `CHILD_OVERHEAD` bytes longer than the plaintext, which may
 *   already be in it at that offset
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
 *   already be in it at that offset; by default new memory
 * @returns the blob
 * @throws StorageError `key` if a public key is of low order
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
  const bodyStart = PREAMBLE_LENGTH + header.length;
  writePrefix(blob, header);
  const bodyKey = bodyKeyOf(contentKey, blob.subarray(0, bodyStart), "root");
  naCl.seal(blob.subarray(bodyStart), plaintext, BODY_NONCE, bodyKey);
  return blob;
}

/** The one message for every failed decryption: details would help only an attacker. */
const DECRYPTION_FAILED = "decryption failed: the blob was not sealed with this key";

/**
 * Opens a leaf or node whose bytes match its address.
 *
 * @param into receives the plaintext if its length matches; otherwise, and by default, the plaintext
 *   replaces the ciphertext in `blob`
 * @returns the plaintext, a view
 * @throws StorageError `format`, `commit`, `auth`
 */
export function openChild(
  naCl: Pick<NaCl, "open">,
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
 * Opens a leaf or node in place, if its bytes match its address. They are hashed while they are opened, which
 * reads them from memory once.
 *
 * @returns the plaintext, a view; undefined if the bytes do not match. Then, and after an error, the body of
 *   `blob` is worthless
 * @throws StorageError `format`, `commit`, `auth`
 */
export function openChildAt(
  naCl: NaCl,
  kind: ChildKind,
  { address, contentKey }: Reference,
  blob: Uint8Array,
): Uint8Array | undefined {
  if (naCl.openInParts === undefined) {
    return addressOf(blob) === address ? openChild(naCl, kind, contentKey, blob) : undefined;
  }
  let hashing: Hashing | undefined;
  const open: NaCl["open"] = (message, box, nonce, key) => {
    const hash = startSha256();
    hashing = hash;
    hash.update(blob.subarray(0, blob.length - box.length));
    return naCl.openInParts!(message, box, nonce, key, (part) => hash.update(part));
  };
  let plaintext: Uint8Array | undefined;
  let fault: StorageError | undefined;
  try {
    plaintext = openChild({ open }, kind, contentKey, blob);
  } catch (error) {
    // Anything else says nothing about the blob, of which only a part may be hashed then.
    if (!(error instanceof StorageError)) throw error;
    fault = error;
  }
  // Not hashed, and not changed, if what precedes the body is wrong.
  const found = hashing === undefined ? addressOf(blob) : toHex(hashing.digest());
  if (found !== address) return undefined;
  if (fault !== undefined) throw fault;
  return plaintext;
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
  naCl: Pick<NaCl, "open">,
  kind: BlobKind,
  contentKey: Uint8Array,
  commitment: Uint8Array,
  { prefix, body }: Envelope,
  into?: Uint8Array,
): Uint8Array {
  // Checked before the body, because a secretbox can be crafted to open under two keys.
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
