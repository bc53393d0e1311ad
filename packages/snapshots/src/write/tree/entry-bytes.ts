import { type Extra, TYPES, extraItem } from "../../format/tree/entry.ts";
import { ARRAY, ByteWriter } from "./byte-writer.ts";
import type { CacheRecord } from "../../cache/record.ts";
import { type Content, contentLengthMax, packsOf } from "./content.ts";
import type { Cuttable } from "../../format/tree/cut.ts";
import { decodeValue } from "./record-value.ts";
import { encodeCborT } from "@idk/storage/blobs";

/** An entry as bytes, but for the content, whose row numbers are known only in its pack. */
export interface EntryBytes extends Cuttable {
  /** The head of the array, and the items up to the size. */
  readonly before: Uint8Array;
  readonly content: Content;
  /** The hash and the extra fields. */
  readonly after: Uint8Array;
}

const scratch = new ByteWriter();

/** The entry of a record: of a folder, of that of its end. */
export function entryOf(record: CacheRecord): EntryBytes {
  const { name, state } = record;
  const { uid, gid, after, content } = decodeValue(record.value, state.type);
  scratch.clear();
  scratch.head(ARRAY, 11);
  scratch.byteString(name);
  scratch.integer(TYPES.indexOf(state.type));
  scratch.integer(state.mode);
  scratch.integer(uid);
  scratch.integer(gid);
  scratch.integer(state.mtime.seconds);
  scratch.integer(state.mtime.nanoseconds);
  scratch.integer(state.type === "file" ? state.size : 0);
  const before = scratch.view().slice();
  const length = before.length + contentLengthMax(content) + after.length;
  return { name, before, content, after, length, packs: packsOf(content) };
}

/** The hash of an entry, if it has one, and its extra fields. */
export function encodeAfter(hash: Uint8Array | null, extra: Extra): Uint8Array {
  scratch.clear();
  if (hash === null) scratch.null();
  else scratch.byteString(hash);
  scratch.raw(encodedExtra(extra));
  return scratch.view().slice();
}

/** The last ones without attributes and links: nearly all entries of a backup have the same owner. */
let last:
  | {
      readonly user: string | undefined;
      readonly group: string | undefined;
      readonly bytes: Uint8Array;
    }
  | undefined;

function encodedExtra(extra: Extra): Uint8Array {
  const { user, group, links, attributes, inconsistent } = extra;
  const isPlain = links === undefined && attributes === undefined && inconsistent === undefined;
  if (!isPlain) return encodeCborT(extraItem(extra));
  if (last === undefined || last.user !== user || last.group !== group) {
    last = { user, group, bytes: encodeCborT(extraItem(extra)) };
  }
  return last.bytes;
}

/** The length of an encoded hash. */
const HASH_ITEM = 34;

/** The hash in the last two items of a file or folder. */
export function hashIn(after: Uint8Array): Uint8Array {
  return after.subarray(2, HASH_ITEM);
}

/** The encoded extra fields in the last two items of a file or folder. */
export function extraIn(after: Uint8Array): Uint8Array {
  return after.subarray(HASH_ITEM);
}

/** Adds an entry as its directory's tree id has it: without where its content lies. */
export function writeTreeIdItem(into: ByteWriter, { before, content, after }: EntryBytes): void {
  into.raw(before);
  if (content.kind === "fixed") into.raw(content.item);
  else into.null();
  into.raw(after);
}
