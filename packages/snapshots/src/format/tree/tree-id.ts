import { type Entry, treeIdItem } from "./entry.ts";
import { createHash } from "node:crypto";
import { encodeCborT } from "@idk/storage/blobs";

/** Computes the tree id of a directory, entry by entry. */
export interface TreeIdHash {
  /** Adds the next entry, in the order of names. */
  add(entry: Entry): void;
  /**
   * The tree id, 32 bytes.
   *
   * @throws RangeError if fewer or more entries were added than announced
   */
  digest(): Uint8Array;
}

/**
 * Begins the tree id of a directory: SHA-256 of the array of all its entries, with null for the content
 * of files and directories. So it names what the directory holds, and not where that lies or how it was
 * cut.
 *
 * @param count how many entries the directory has: the array begins with it
 */
export function treeIdHash(count: number): TreeIdHash {
  const hash = createHash("sha256");
  hash.update(arrayHead(count));
  let added = 0;
  return {
    add(entry) {
      added += 1;
      hash.update(encodeCborT(treeIdItem(entry)));
    },
    digest() {
      if (added !== count) throw new RangeError(`${added} entries instead of ${count}`);
      return new Uint8Array(hash.digest());
    },
  };
}

/** The tree id of a directory whose entries are in memory, in the order of names. */
export function treeId(entries: readonly Entry[]): Uint8Array {
  const hash = treeIdHash(entries.length);
  for (const entry of entries) hash.add(entry);
  return hash.digest();
}

/** The head of an array differs from that of an unsigned integer only in its major type. */
function arrayHead(count: number): Uint8Array {
  const head = encodeCborT(count);
  head[0]! |= 0x80;
  return head;
}
