import { fromHex } from "../bytes.ts";

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
