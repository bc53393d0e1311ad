import type { PlacedRoot } from "../../catalog/records.ts";
import type { ByteRange } from "../objects.ts";

/** A content root with the part of it that a range covers. */
export interface RangeOfRoot {
  readonly root: PlacedRoot;
  /** Within the root: start inclusive, end exclusive. */
  readonly range: ByteRange;
}

/** Finds the content roots of ranges. */
export interface RangeIndex {
  /** The roots that a range touches, in order. An empty range touches none. */
  find(range: ByteRange): readonly RangeOfRoot[];
}

/** Sums the sizes once, so that each range takes a binary search. */
export function createRangeIndex(contents: readonly PlacedRoot[]): RangeIndex {
  const ends: number[] = [];
  let total = 0;
  for (const { size } of contents) ends.push((total += size));

  /** The root that has this byte. */
  const rootAt = (offset: number): number => {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (ends[middle]! <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  return {
    find({ start, end }) {
      const found: RangeOfRoot[] = [];
      let index = start < end ? rootAt(start) : ends.length;
      for (; index < ends.length; index++) {
        const root = contents[index]!;
        const first = ends[index]! - root.size;
        if (first >= end) break;
        found.push({
          root,
          range: { start: Math.max(start - first, 0), end: Math.min(end - first, root.size) },
        });
      }
      return found;
    },
  };
}

/** The content roots that are exactly a range; undefined if it begins or ends within one. */
export function rootsOfRange(
  contents: readonly PlacedRoot[],
  range: ByteRange,
): readonly PlacedRoot[] | undefined {
  const found = createRangeIndex(contents).find(range);
  const isWhole = ({ root, range: { start, end } }: RangeOfRoot) =>
    start === 0 && end === root.size;
  return found.every(isWhole) ? found.map(({ root }) => root) : undefined;
}
