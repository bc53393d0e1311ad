import type { PlacedRoot, Seq } from "./records.ts";

/**
 * The content roots of long objects that were opened last, by their owner. Those of an object never change,
 * and each range that a client reads needs them.
 */
export interface ContentsCache {
  find(owner: Seq): readonly PlacedRoot[] | undefined;
  keep(owner: Seq, contents: readonly PlacedRoot[]): void;
}

/** Shorter ones are read as fast. */
const LONG = 64;
/** Roots that are kept at most, of 300 bytes each. */
const KEPT_MAX = 30_000;

export function createContentsCache(): ContentsCache {
  const kept = new Map<Seq, readonly PlacedRoot[]>();
  let count = 0;
  const forget = (owner: Seq): void => {
    count -= kept.get(owner)?.length ?? 0;
    kept.delete(owner);
  };
  const keep = (owner: Seq, contents: readonly PlacedRoot[]): void => {
    if (contents.length < LONG) return;
    // The last one in the order of insertion is the one used last.
    forget(owner);
    kept.set(owner, contents);
    count += contents.length;
    for (const oldest of kept.keys()) {
      if (count <= KEPT_MAX) break;
      forget(oldest);
    }
  };
  return {
    find(owner) {
      const contents = kept.get(owner);
      if (contents !== undefined) keep(owner, contents);
      return contents;
    },
    keep,
  };
}
