import { type Address, addressOf } from "../crypto/address.ts";
import type { ChildKind } from "../crypto/key-schedule.ts";
import type { NaCl } from "../crypto/nacl/nacl.ts";
import { openChild as openVerified, sealChild as seal } from "../crypto/seal.ts";
import { CHILD_OVERHEAD, CHUNK_LOG2_MAX, KEY_LENGTH } from "../format/limits.ts";
import { assertLength, typeName } from "../bytes.ts";
import { usage } from "../errors.ts";

/** The most bytes of a child's plaintext: 16 MiB. */
export const CHILD_PLAINTEXT_MAX: number = 2 ** CHUNK_LOG2_MAX;

/** A leaf or node to seal. */
export interface UnsealedChild {
  readonly kind: ChildKind;
  /**
   * 32 bytes. The caller guarantees that it never seals another plaintext: an attacker with two
   * blobs of one key learns the difference of their plaintexts, and can forge both.
   */
  readonly contentKey: Uint8Array;
  /** At most 16 MiB. It may lie in `blob`, at the offset `CHILD_OVERHEAD`, and is then replaced. */
  readonly plaintext: Uint8Array;
  /** Receives the whole blob: exactly `CHILD_OVERHEAD` bytes longer than the plaintext. */
  readonly blob: Uint8Array;
}

/**
 * Seals a leaf or node under a given content key (docs/format.md, sections 3, 5 and 6). Nobody may
 * change the plaintext meanwhile.
 *
 * @returns the address of the blob
 * @throws StorageError `usage`
 */
export function sealChild(
  naCl: NaCl,
  { kind, contentKey, plaintext, blob }: UnsealedChild,
): Address {
  checkKind(kind);
  assertLength("contentKey", contentKey, KEY_LENGTH);
  if (!(plaintext instanceof Uint8Array) || plaintext.length > CHILD_PLAINTEXT_MAX) {
    throw usage(`plaintext must be a Uint8Array of at most ${CHILD_PLAINTEXT_MAX} bytes`);
  }
  assertLength("blob", blob, CHILD_OVERHEAD + plaintext.length);
  seal(naCl, kind, contentKey, plaintext, blob);
  return addressOf(blob);
}

/** A leaf or node to open. */
export interface SealedChild {
  readonly kind: ChildKind;
  /** 32 bytes. */
  readonly contentKey: Uint8Array;
  /** The whole blob, whose address the caller has checked: `fetchBlob` does. */
  readonly blob: Uint8Array;
  /**
   * Receives the plaintext if it has exactly its length; otherwise, and by default, the plaintext
   * replaces the ciphertext in `blob`.
   */
  readonly into?: Uint8Array | undefined;
}

/**
 * Opens a leaf or node. The caller checks that the plaintext has the length that it must have.
 *
 * @returns the plaintext, a view of `into` or `blob`
 * @throws StorageError `format`, `commit`, `auth`; `usage`
 */
export function openChild(naCl: NaCl, { kind, contentKey, blob, into }: SealedChild): Uint8Array {
  checkKind(kind);
  assertLength("contentKey", contentKey, KEY_LENGTH);
  return openVerified(naCl, kind, contentKey, blob, into);
}

function checkKind(kind: unknown): void {
  if (kind !== "leaf" && kind !== "node") {
    throw usage(`the kind of a child is "leaf" or "node", got ${typeName(kind)}`);
  }
}
