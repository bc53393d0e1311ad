import { HASH_LENGTH, REFERENCE_LENGTH } from "./limits.ts";
import { fromHex, toHex } from "../bytes.ts";

/** What a parent knows of a child: where it is, and the key that opens it. */
export interface Reference {
  /** 64 lowercase hex digits. */
  readonly address: string;
  /** The child's content key, 32 bytes; a view. */
  readonly contentKey: Uint8Array;
}

/** How many references a byte string of references holds. */
export function referenceCount(bytes: Uint8Array): number {
  return bytes.length / REFERENCE_LENGTH;
}

/** The reference at an index, as a view. The caller has checked the length. */
export function referenceAt(bytes: Uint8Array, index: number): Reference {
  const start = index * REFERENCE_LENGTH;
  return {
    address: toHex(bytes.subarray(start, start + HASH_LENGTH)),
    contentKey: bytes.subarray(start + HASH_LENGTH, start + REFERENCE_LENGTH),
  };
}

/** Writes the reference at an index. */
export function writeReference(bytes: Uint8Array, index: number, reference: Reference): void {
  const start = index * REFERENCE_LENGTH;
  bytes.set(fromHex(reference.address), start);
  bytes.set(reference.contentKey, start + HASH_LENGTH);
}
