import { allZero, fromHex } from "../bytes.ts";
import { KEY_LENGTH } from "../format/limits.ts";
import type { NaCl } from "./nacl.ts";

/** 2^255 − 19, big-endian. */
const PRIME = fromHex("7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed");

/**
 * Whether 32 bytes are the one encoding of a coordinate: little-endian and below 2^255−19.
 * RFC 7748 makes readers reduce other encodings; here they would be a second name for the same
 * key, so they are refused.
 */
export function isCanonicalPublicKey(publicKey: Uint8Array): boolean {
  for (let i = 0; i < PRIME.length; i++) {
    const difference = publicKey[PRIME.length - 1 - i]! - PRIME[i]!;
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** Any clamped scalar sends a point of low order to zero, so this needs nobody's key. */
const ANY_SECRET = new Uint8Array(KEY_LENGTH).fill(1);

/** Whether every shared secret with this public key is zero (RFC 7748, section 6.1). */
export function isLowOrder(naCl: NaCl, publicKey: Uint8Array): boolean {
  return allZero(naCl.x25519(ANY_SECRET, publicKey));
}
