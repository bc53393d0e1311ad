import { timingSafeEqual } from "node:crypto";
import { type Identity, secretKeyOf } from "@idk/storage";
import { assertLength, hash, kdf, mac, utf8 } from "@idk/storage/blobs";

/** Keys that authenticate identities: 32 bytes each. The first one writes, all of them verify. */
export type MacKeys = readonly [Uint8Array, ...Uint8Array[]];

const DOMAIN = utf8("idk/s3/root");
const KEY_LENGTH = 32;

/**
 * The key that authenticates what a gateway with this identity wrote. Without it, anyone who has the
 * public key could make objects that a rebuild would accept. Secret; a gateway that has public keys
 * alone is given it.
 */
export function macKeyOf(identity: Identity): Uint8Array {
  return kdf(secretKeyOf(identity), new Uint8Array(0), "idk/s3/identity");
}

/**
 * The keys of a gateway.
 *
 * @param given of a gateway without an identity, or to write for another one; 32 bytes
 * @returns undefined if there is no key
 * @throws StorageError `usage`
 */
export function macKeysOf(
  identities: readonly Identity[],
  given: Uint8Array | undefined,
): MacKeys | undefined {
  if (given !== undefined) assertLength("macKey", given, KEY_LENGTH);
  const [first, ...others] = [...(given ? [given] : []), ...identities.map(macKeyOf)];
  return first === undefined ? undefined : [first, ...others];
}

/** The MAC of a record, which names its store, and the content beside it in its root. Both are hashed, so that neither can pass for a part of the other. */
export function authenticate(keys: MacKeys, record: Uint8Array, content: Uint8Array): Uint8Array {
  return mac(keys[0], DOMAIN, hash(record), hash(content));
}

/** Whether one of the keys made the MAC. */
export function isAuthentic(
  keys: MacKeys,
  tag: Uint8Array,
  record: Uint8Array,
  content: Uint8Array,
): boolean {
  if (tag.length !== KEY_LENGTH) return false;
  const digests = [hash(record), hash(content)] as const;
  return keys.some((key) => timingSafeEqual(mac(key, DOMAIN, ...digests), tag));
}
