import { LinkTable, PRINT_LENGTH } from "./link-table.ts";
import type { Stat } from "../files/host.ts";

/** Numbers the groups of hard links in a walk. */
export interface LinkGroups {
  /**
   * Whether a name has what the names of its file before it have. If not, the file has changed since
   * those were read.
   *
   * @param hash of the content of a file
   */
  fits(stat: Stat, hash?: Uint8Array): boolean;
  /**
   * The number of the group that a name is in; undefined if its file has one name only, or too many
   * groups wait for names. A name that does not fit begins another group.
   *
   * @param previous the number that it had in the last snapshot, which it keeps if it can
   */
  numberOf(stat: Stat, previous?: number, hash?: Uint8Array): number | undefined;
  /** The number for the first new group of the next snapshot. */
  readonly next: number;
}

/** Groups that wait for names, which may lie outside the walk. They take some 130 MB. */
const OPEN_MAX: number = 2 ** 21;

/**
 * Begins the groups of one walk. A number is that of one inode only, also if files that were one in the
 * last snapshot are several now.
 *
 * @param first greater than every number of the last snapshot
 */
export function linkGroups(first: number, openMax: number = OPEN_MAX): LinkGroups {
  let next = first;
  // Only for as long as not all of its names were seen.
  const open = new LinkTable();
  const kept = new NumberSet();
  const newNumber = (previous: number | undefined): number => {
    if (previous !== undefined && previous < first && kept.add(previous)) return previous;
    next += 1;
    return next - 1;
  };
  return {
    fits(stat, hash) {
      const group = open.get(stat.device, stat.inode);
      return group === undefined || Buffer.compare(group.print, printOf(stat, hash)) === 0;
    },
    numberOf(stat, previous, hash) {
      if (stat.links < 2 || stat.type === "directory") return undefined;
      const { device, inode } = stat;
      const group = open.get(device, inode);
      if (group === undefined && open.size >= openMax) return undefined;
      const print = printOf(stat, hash);
      const isSame = group !== undefined && Buffer.compare(group.print, print) === 0;
      const number = isSame ? group.number : newNumber(previous);
      const left = (group?.left ?? stat.links) - 1;
      if (left > 0) open.set(device, inode, { number, left, print });
      else open.delete(device, inode);
      return number;
    },
    get next() {
      return next;
    },
  };
}

/** Files are told by their content, all else by type, because nothing else of it can change. */
function printOf({ type }: Stat, hash: Uint8Array | undefined): Uint8Array {
  if (hash !== undefined) return hash.subarray(0, PRINT_LENGTH);
  return new Uint8Array(Buffer.alloc(PRINT_LENGTH, `${type}\0`));
}

/** Numbers of a page, in bits. */
const PAGE = 2 ** 13;

/** A set of numbers most of which lie close together. */
class NumberSet {
  readonly #pages = new Map<number, Uint8Array>();

  /** @returns false if it was in the set */
  add(number: number): boolean {
    const key = Math.floor(number / PAGE);
    let page = this.#pages.get(key);
    if (page === undefined) this.#pages.set(key, (page = new Uint8Array(PAGE / 8)));
    const [at, bit] = [(number % PAGE) >>> 3, 1 << (number % 8)];
    if ((page[at]! & bit) !== 0) return false;
    page[at]! |= bit;
    return true;
  }
}
