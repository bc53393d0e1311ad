import { hkdf, hmac, sha256 } from "./hash.ts";
import { utf8 } from "../bytes.ts";

/** What a blob is: it enters the key of its body, so that one kind can never pass for another. */
export type BlobKind = "root" | "node" | "leaf";
export type ChildKind = Exclude<BlobKind, "root">;

const NO_SALT = new Uint8Array(0);

/** `c`: ties the header to one content key, which the tag of a secretbox alone does not. */
export function commitmentOf(contentKey: Uint8Array): Uint8Array {
  return hkdf(contentKey, NO_SALT, "idk/v1/commit");
}

/** The key of the body, bound to everything in front of it and to the kind of blob. */
export function bodyKeyOf(contentKey: Uint8Array, prefix: Uint8Array, kind: BlobKind): Uint8Array {
  return hkdf(contentKey, sha256(prefix), `idk/v1/${kind}`);
}

/** Zero, because a body key seals exactly one plaintext. */
export const BODY_NONCE: Uint8Array = new Uint8Array(24);

/** The content key of a child in convergent writing: same secret, kind and plaintext, same key. */
export function convergentChildKey(
  dedupSecret: Uint8Array,
  kind: ChildKind,
  plaintext: Uint8Array,
): Uint8Array {
  return hmac(dedupSecret, utf8(`idk/v1/conv/${kind}`), sha256(plaintext));
}

/** The content key and the ephemeral secret of a root in convergent writing. */
export function convergentRootKeys(
  dedupSecret: Uint8Array,
  sortedPublicKeys: readonly Uint8Array[],
  plaintext: Uint8Array,
): RootKeys {
  const recipients = sha256(...sortedPublicKeys);
  const content = sha256(plaintext);
  return {
    contentKey: hmac(dedupSecret, utf8("idk/v1/conv/root"), recipients, content),
    ephemeralSecret: hmac(dedupSecret, utf8("idk/v1/conv/esk"), recipients, content),
  };
}

/** The two secrets a root is written with. */
export interface RootKeys {
  readonly contentKey: Uint8Array;
  readonly ephemeralSecret: Uint8Array;
}

/** Fresh from the system's generator: the default for every blob. */
export function randomKey(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}
