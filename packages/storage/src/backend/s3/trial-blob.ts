import { randomBytes } from "node:crypto";

/**
 * What the leaf of a tree begins with (docs/format.md, "Envelope" and "Header"): "IDK", version 1, the length of
 * the header, and a header of 32 bytes named "c".
 */
const BEGINNING = Uint8Array.of(0x49, 0x44, 0x4b, 1, 0, 37, 0xa1, 0x61, 0x63, 0x58, 32);

/** The 32 bytes of the header, a tag of 16, and a little content. */
const REST = 32 + 16 + 32;

/**
 * A blob to find out by what a place can do. To whoever has no key it looks like the leaf of a tree
 * of others, so that one that a crash leaves behind is no damaged blob. It is never twice the same:
 * who tries the same place at the same time has another name, and neither removes the other's.
 */
export function trialBlob(): Uint8Array {
  return new Uint8Array(Buffer.concat([BEGINNING, randomBytes(REST)]));
}
