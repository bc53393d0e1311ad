import { type Ed25519, assertLength, equal, fromHex, loadedNaCl } from "@idk/storage/blobs";
import { StorageError } from "@idk/storage";
import { PUBLIC_KEY_LENGTH, SIGNATURE_LENGTH } from "../limits.ts";

/** The length of the secret that an Ed25519 key pair is made of (RFC 8032). */
export const SEED_LENGTH = 32;

/** libsodium's if it is loaded, as it is to open what is signed: all give the same bytes and verdicts. */
function usual(): Ed25519 {
  const { ed25519 } = loadedNaCl();
  if (ed25519 === undefined) throw new StorageError("usage", "this runtime has no Ed25519");
  return ed25519;
}

/** The public key of a seed, 32 bytes. */
export function publicKeyOfSeed(seed: Uint8Array, ed25519: Ed25519 = usual()): Uint8Array {
  assertLength("seed", seed, SEED_LENGTH);
  return ed25519.publicKey(seed);
}

/** Signs a message (RFC 8032, Ed25519): 64 bytes, always the same for the same seed and message. */
export function signMessage(
  seed: Uint8Array,
  message: Uint8Array,
  ed25519: Ed25519 = usual(),
): Uint8Array {
  assertLength("seed", seed, SEED_LENGTH);
  return ed25519.sign(seed, message);
}

/**
 * Verifies a signature strictly. Public keys and an R that are not canonical or of low order, under which one
 * signature is valid for several messages or keys, are refused here, whichever implementation follows, and so
 * is S ≥ L. That R is the encoding of [S]B − [k]A is left to the implementation (docs/decisions/0022).
 */
export function verifySignature(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
  ed25519: Ed25519 = usual(),
): boolean {
  if (signature.length !== SIGNATURE_LENGTH || !isPublicKey(publicKey)) return false;
  if (!isStrictPoint(signature.subarray(0, PUBLIC_KEY_LENGTH)) || !isBelowOrder(signature))
    return false;
  return ed25519.verify(publicKey, message, signature);
}

/** Whether 32 bytes are a canonical public key that is not of low order. It may still not be on the curve. */
export function isPublicKey(publicKey: Uint8Array): boolean {
  return publicKey.length === PUBLIC_KEY_LENGTH && isStrictPoint(publicKey);
}

function isStrictPoint(point: Uint8Array): boolean {
  return isCanonical(point) && !hasLowOrder(point);
}

/** 2^255 − 19, little-endian. */
const PRIME = fromHex("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f");
/** The order L of the base point, 2^252 + 27742317777372353535851937790883648493, little-endian. */
const ORDER = fromHex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");

function isBelow(bytes: Uint8Array, limit: Uint8Array): boolean {
  for (let i = limit.length - 1; i >= 0; i--) {
    const difference = bytes[i]! - limit[i]!;
    if (difference !== 0) return difference < 0;
  }
  return false;
}

function isBelowOrder(signature: Uint8Array): boolean {
  return isBelow(signature.subarray(PUBLIC_KEY_LENGTH), ORDER);
}

/** The y coordinate, without the sign of x in the top bit. */
function coordinate(point: Uint8Array): Uint8Array {
  const y = new Uint8Array(point);
  y[31]! &= 0x7f;
  return y;
}

function isCanonical(point: Uint8Array): boolean {
  return isBelow(coordinate(point), PRIME);
}

/**
 * The y coordinates of all points of order 1, 2, 4 and 8, with those that are not canonical
 * (libsodium, `ge25519_has_small_order`).
 */
const LOW_ORDER: readonly Uint8Array[] = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
].map(fromHex);

function hasLowOrder(point: Uint8Array): boolean {
  const y = coordinate(point);
  return LOW_ORDER.some((low) => equal(low, y));
}
