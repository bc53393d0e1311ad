import { ARRAY, ByteWriter } from "./byte-writer.ts";
import type { Entry } from "./entry.ts";
import { startHash } from "@idk/storage/blobs";
import { writeTreeIdEntry } from "./encode-entry.ts";

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
  const hash = startHash();
  const bytes = new ByteWriter();
  bytes.head(ARRAY, count);
  hash.update(bytes.view());
  let added = 0;
  return {
    add(entry) {
      added += 1;
      bytes.clear();
      writeTreeIdEntry(bytes, entry);
      hash.update(bytes.view());
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
