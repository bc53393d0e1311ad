/** A part of a repository's blobs, which is worked on apart from the others. */
export interface BlobShard {
  /** The first digits of all addresses in it, disjoint: nothing else is listed. */
  readonly prefixes: readonly string[];
  /** How many parts there are, all about as large. */
  readonly count: number;
  /** @param address 64 lowercase hex digits */
  has(address: string): boolean;
}

/** All blobs. */
export const ALL_BLOBS: BlobShard = { prefixes: [""], count: 1, has: () => true };
