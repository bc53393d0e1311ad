import { hkdf, hmac, sha256 } from "./hash.ts";
import { utf8 } from "../bytes.ts";

/** The kind of a blob that is opened with a content key from elsewhere, not by recipients. */
export type ChildKind = "node" | "leaf";

/** The kind of a blob. It is part of the body key's derivation, so one kind cannot pass for another. */
export type BlobKind = "root" | ChildKind;

const NO_SALT = new Uint8Array(0);

/** `c`: commits to one content key, which the tag of a secretbox alone does not. */
export function commitmentOf(contentKey: Uint8Array): Uint8Array {
  return hkdf(contentKey, NO_SALT, "idk/v1/commit");
}

/** The key of the body, bound to everything before it and to the kind of blob. */
export function bodyKeyOf(contentKey: Uint8Array, prefix: Uint8Array, kind: BlobKind): Uint8Array {
  return hkdf(contentKey, sha256(prefix), `idk/v1/${kind}`);
}

/** Zero, because a body key seals only one plaintext. */
export const BODY_NONCE: Uint8Array = new Uint8Array(24);

/** The content key of a child in convergent writing: determined by secret, kind and plaintext. */
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

/** The two secrets that a root is written with. */
export interface RootKeys {
  readonly contentKey: Uint8Array;
  readonly ephemeralSecret: Uint8Array;
}

/** 32 random bytes from the system's generator. */
export function randomKey(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}
