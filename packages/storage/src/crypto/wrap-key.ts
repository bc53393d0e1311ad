import { hsalsa } from "@noble/ciphers/salsa.js";
import { allZero, concat, utf8 } from "../bytes.ts";
import { KEY_LENGTH, SLOT_LENGTH } from "../format/limits.ts";
import type { NaCl } from "./nacl/nacl.ts";
import { StorageError } from "../errors.ts";
import { isCanonicalPublicKey, isLowOrder } from "./public-key.ts";
import { malformed } from "../format/envelope.ts";
import { sha256 } from "./hash.ts";

const CONTEXT = utf8("idk/v1/wrap");
const NONCE_LENGTH = 24;

/** The raw keys of an identity, 32 bytes each. */
export interface KeyPair {
  readonly secretKey: Uint8Array;
  readonly publicKey: Uint8Array;
}

/**
 * Wraps a content key for every public key, in their order (`crypto_box`, with a nonce that binds
 * the slot to its recipient and its root).
 *
 * @throws StorageError `key` if a public key is of low order
 */
export function wrapContentKey(
  naCl: NaCl,
  contentKey: Uint8Array,
  ephemeralSecret: Uint8Array,
  publicKeys: readonly Uint8Array[],
): { ephemeral: Uint8Array; slots: Uint8Array[] } {
  const ephemeral = naCl.publicKey(ephemeralSecret);
  const slots = publicKeys.map((publicKey) => {
    const key = boxKey(naCl, ephemeralSecret, publicKey);
    if (key === undefined) {
      throw new StorageError(
        "key",
        "a recipient's public key is of low order: no one can hold its secret key",
      );
    }
    const slot = new Uint8Array(SLOT_LENGTH);
    naCl.seal(slot, contentKey, slotNonce(ephemeral, publicKey), key);
    return slot;
  });
  return { ephemeral, slots };
}

/**
 * Finds a slot that one of the key pairs opens, with one Diffie-Hellman for each key pair. Slots are
 * tried in order, and the first that opens is final.
 *
 * @returns the content key, or undefined if no slot opens
 * @throws StorageError `format` if the ephemeral key is not canonical or of low order
 */
export function unwrapContentKey(
  naCl: NaCl,
  ephemeral: Uint8Array,
  slots: readonly Uint8Array[],
  keyPairs: readonly KeyPair[],
): Uint8Array | undefined {
  // With a key pair, its Diffie-Hellman below reveals a point of low order.
  if (keyPairs.length === 0) assertEphemeral(ephemeral);
  else assertCanonical(ephemeral);
  for (const { secretKey, publicKey } of keyPairs) {
    const key = boxKey(naCl, secretKey, ephemeral);
    if (key === undefined) throw lowOrder();
    const nonce = slotNonce(ephemeral, publicKey);
    const contentKey = new Uint8Array(KEY_LENGTH);
    for (const slot of slots) {
      if (naCl.open(contentKey, slot, nonce, key)) return contentKey;
    }
  }
  return undefined;
}

/**
 * Checks the ephemeral public key of a root as far as is possible without an identity.
 *
 * @throws StorageError `format`
 */
export function assertEphemeral(ephemeral: Uint8Array): void {
  assertCanonical(ephemeral);
  if (isLowOrder(ephemeral)) throw lowOrder();
}

function assertCanonical(ephemeral: Uint8Array): void {
  if (!isCanonicalPublicKey(ephemeral)) throw malformed("its ephemeral key is not canonical");
}

function lowOrder(): StorageError {
  return malformed("its ephemeral key is of low order");
}

function slotNonce(ephemeral: Uint8Array, publicKey: Uint8Array): Uint8Array {
  return sha256(concat(CONTEXT, ephemeral, publicKey)).subarray(0, NONCE_LENGTH);
}

const SIGMA = words(utf8("expand 32-byte k"));
const ZEROS = new Uint32Array(4);

/** `crypto_box_beforenm`: HSalsa20 of the shared secret; undefined if that is all zero. */
function boxKey(naCl: NaCl, secretKey: Uint8Array, publicKey: Uint8Array): Uint8Array | undefined {
  const shared = naCl.x25519(secretKey, publicKey);
  if (allZero(shared)) return undefined;
  const key = new Uint8Array(KEY_LENGTH);
  hsalsa(SIGMA, words(shared), ZEROS, new Uint32Array(key.buffer));
  return key;
}

/** A copy, as words in the order of this machine. */
function words(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(new Uint8Array(bytes).buffer);
}
