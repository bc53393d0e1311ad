import { equal, fromHex } from "../bytes.ts";

/** 2^255 − 19, big-endian. */
const PRIME = fromHex("7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed");

/**
 * Whether 32 bytes are the canonical encoding of a coordinate: little-endian and below 2^255−19.
 * RFC 7748 has readers reduce other encodings. Here they are rejected, because they would be a
 * second name for the same key.
 */
export function isCanonicalPublicKey(publicKey: Uint8Array): boolean {
  for (let i = 0; i < PRIME.length; i++) {
    const difference = publicKey[PRIME.length - 1 - i]! - PRIME[i]!;
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** All points of order 1, 2, 4 and 8 on Curve25519 and its twist (https://cr.yp.to/ecdh.html#validate). */
const LOW_ORDER: readonly Uint8Array[] = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
].map(fromHex);

/**
 * Whether every shared secret with this public key is zero (RFC 7748, section 6.1). Looked up, not
 * computed, because a Diffie-Hellman per recipient would be half the work of sealing a small root.
 *
 * @param publicKey canonical
 */
export function isLowOrder(publicKey: Uint8Array): boolean {
  return LOW_ORDER.some((point) => equal(point, publicKey));
}
