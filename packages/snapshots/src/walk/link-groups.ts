import type { Stat } from "../files/host.ts";

/** Numbers the groups of hard links in a walk. */
export interface LinkGroups {
  /**
   * The number of the group that a file is in; undefined if it has one name only.
   *
   * @param previous the number that the file had in the last snapshot, which it keeps if it can
   */
  numberOf(stat: Stat, previous?: number): number | undefined;
  /** The number for the first new group of the next snapshot. */
  readonly next: number;
}

/**
 * Begins the groups of one walk. A number is that of one inode only, also if files that were one in the
 * last snapshot are several now.
 *
 * @param next greater than every number of the last snapshot
 */
export function linkGroups(next: number): LinkGroups {
  // Only for as long as not all of its names were seen.
  const open = new Map<string, { number: number; left: number }>();
  const used = new Set<number>();
  return {
    numberOf(stat, previous) {
      if (stat.links < 2 || stat.type === "directory") return undefined;
      const key = `${stat.device}:${stat.inode}`;
      let group = open.get(key);
      if (group === undefined) {
        const isFree = previous !== undefined && previous < next && !used.has(previous);
        const number = isFree ? previous : next;
        if (!isFree) next += 1;
        else used.add(number);
        group = { number, left: stat.links };
        open.set(key, group);
      }
      group.left -= 1;
      if (group.left <= 0) open.delete(key);
      return group.number;
    },
    get next() {
      return next;
    },
  };
}
