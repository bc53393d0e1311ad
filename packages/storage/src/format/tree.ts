import {
  CHILD_OVERHEAD,
  CHUNK_LOG2_MAX,
  CHUNK_LOG2_MIN,
  DEPTH_MAX,
  FANOUT,
  HASH_LENGTH,
  INLINE_MAX,
  REFERENCE_LENGTH,
  PADDED_LENGTH_MAX,
} from "./limits.ts";
import { fromHex, toHex } from "../bytes.ts";

/**
 * The shape of a tree, which follows from three numbers in its root. Level 1 is the leaves; each
 * further level is nodes of up to 4096 references; the root has the references to the top level.
 */
export interface TreeShape {
  /** Bytes of content and padding, which docs/format.md calls the stream. */
  readonly paddedLength: number;
  /** Chunk size in bytes: the length of every leaf but the last. */
  readonly chunkSize: number;
  /** Number of levels; 0 for inline content. */
  readonly depth: number;
  /** Blobs on each level, leaves first: level `i` is at index `i - 1`. */
  readonly counts: readonly number[];
}

/** The shape for content longer than the inline limit; undefined if it needs more than three levels. */
export function treeShape(paddedLength: number, chunkSize: number): TreeShape | undefined {
  const counts = [Math.ceil(paddedLength / chunkSize)];
  while (counts.at(-1)! > FANOUT) counts.push(Math.ceil(counts.at(-1)! / FANOUT));
  const depth = counts.length;
  return depth > DEPTH_MAX ? undefined : { paddedLength, chunkSize, depth, counts };
}

/** The shape of inline content: no tree. */
export function inlineShape(length: number): TreeShape {
  return { paddedLength: length, chunkSize: 0, depth: 0, counts: [] };
}

/** Leaves below one blob of this level (1 for a leaf). */
export function leavesBelow(level: number): number {
  return FANOUT ** (level - 1);
}

/** The exact plaintext length of the blob at an index of a level. */
export function plaintextLength(shape: TreeShape, level: number, index: number): number {
  if (level === 1) {
    const start = index * shape.chunkSize;
    return Math.min(shape.chunkSize, shape.paddedLength - start);
  }
  const below = shape.counts[level - 2]!;
  return Math.min(FANOUT, below - index * FANOUT) * REFERENCE_LENGTH;
}

/** Blobs of a tree and their bytes as stored, without its root. */
export function storedChildren(shape: TreeShape): { blobs: number; bytes: number } {
  let blobs = 0;
  let bytes = 0;
  for (const [below, count] of shape.counts.entries()) {
    blobs += count;
    // The plaintext of leaves is the padded content; that of nodes, the references below.
    bytes += below === 0 ? shape.paddedLength : shape.counts[below - 1]! * REFERENCE_LENGTH;
    bytes += count * CHILD_OVERHEAD;
  }
  return { blobs, bytes };
}

/** The root's numbers, before they have been checked. */
export interface ShapeClaim {
  readonly depth: number;
  readonly chunkLog2: number;
  readonly contentLength: number;
  readonly padding: number;
}

/**
 * Checks a root's numbers against each other.
 *
 * @returns the shape, or undefined if the format does not allow these numbers together
 */
export function checkedShape(claim: ShapeClaim): TreeShape | undefined {
  const { depth, chunkLog2, contentLength, padding } = claim;
  if (padding > contentLength || contentLength > PADDED_LENGTH_MAX - padding) return undefined;
  if (depth === 0 || contentLength <= INLINE_MAX) {
    const inline = depth === 0 && contentLength <= INLINE_MAX && chunkLog2 === 0 && padding === 0;
    return inline ? inlineShape(contentLength) : undefined;
  }
  if (chunkLog2 < CHUNK_LOG2_MIN || chunkLog2 > CHUNK_LOG2_MAX) return undefined;
  const shape = treeShape(contentLength + padding, 2 ** chunkLog2);
  return shape?.depth === depth ? shape : undefined;
}

/** A parent's reference to a child: its address, and the key that opens it. */
export interface Reference {
  /** 64 lowercase hex digits. */
  readonly address: string;
  /** The child's content key, 32 bytes; a view. */
  readonly contentKey: Uint8Array;
}

/** The number of references in a byte string. */
export function referenceCount(bytes: Uint8Array): number {
  return bytes.length / REFERENCE_LENGTH;
}

/** The reference at an index, as a view. The caller must have checked the length. */
export function referenceAt(bytes: Uint8Array, index: number): Reference {
  const start = index * REFERENCE_LENGTH;
  return {
    address: toHex(bytes.subarray(start, start + HASH_LENGTH)),
    contentKey: bytes.subarray(start + HASH_LENGTH, start + REFERENCE_LENGTH),
  };
}

export function writeReference(bytes: Uint8Array, index: number, reference: Reference): void {
  const start = index * REFERENCE_LENGTH;
  bytes.set(fromHex(reference.address), start);
  bytes.set(reference.contentKey, start + HASH_LENGTH);
}
