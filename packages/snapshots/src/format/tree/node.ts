import { ARRAY, ByteWriter } from "./byte-writer.ts";
import { type Entry, decodeEntry } from "./entry.ts";
import { bytesOfEntry, writeEntry } from "./encode-entry.ts";
import { FRAME_DECODED_MAX } from "../limits.ts";
import type { Place } from "./content.ts";
import { array, decodedItem, decoding, malformed } from "../checks.ts";
import { type CborItem, decodeCborT } from "@idk/storage/blobs";
import { rowOfNumber } from "./encode-content.ts";

/**
 * Encodes a node: a directory's entries, or some of them.
 *
 * @param place where it is going to lie
 * @throws StorageError `tree` if a reader would refuse it, `usage` if a value has no encoding
 */
export function encodeNode(entries: readonly Entry[], place: Place): Uint8Array<ArrayBuffer> {
  const into = new ByteWriter();
  into.head(ARRAY, entries.length);
  for (const entry of entries) writeEntry(into, bytesOfEntry(entry), rowOfNumber);
  const bytes = into.view().slice();
  decoding("tree", "the node", () => {
    if (bytes.length > FRAME_DECODED_MAX) throw malformed("it is longer than a frame");
    readNode(decodeCborT(bytes), place);
  });
  return bytes;
}

/**
 * Decodes a node. Byte strings are views.
 *
 * @param place where it lies
 * @throws StorageError `tree`
 */
export function decodeNode(bytes: Uint8Array, place: Place): Entry[] {
  return decoding("tree", "the node", () => readNode(decodedItem(bytes, FRAME_DECODED_MAX), place));
}

function readNode(item: CborItem, place: Place): Entry[] {
  const items = array(item, "it");
  if (items.length === 0) throw malformed("it has no entry");
  const entries: Entry[] = [];
  let previous: Uint8Array | undefined;
  for (const inner of items) {
    const entry = decodeEntry(inner, place);
    if (previous !== undefined && Buffer.compare(previous, entry.name) >= 0) {
      throw malformed("its entries are out of order, or two have one name");
    }
    previous = entry.name;
    entries.push(entry);
  }
  return entries;
}
