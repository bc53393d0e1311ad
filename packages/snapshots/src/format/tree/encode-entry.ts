import { ARRAY, ByteWriter } from "./byte-writer.ts";
import { type CborItem, decodeCborT, encodeCborT } from "@idk/storage/blobs";
import {
  type Content,
  contentLengthMax,
  packsOf,
  placedNodes,
  placedPieces,
  rowOfNumber,
  writeContent,
} from "./encode-content.ts";
import { type Entry, type Extra, TYPES } from "./entry.ts";
import type { Cuttable } from "./cut.ts";

/** An entry as bytes, but for the content, whose row numbers are known only in its pack. */
export interface EntryBytes extends Cuttable {
  /** The head of the array, and the items up to the size. */
  readonly before: Uint8Array;
  readonly content: Content;
  /** The hash and the extra fields. */
  readonly after: Uint8Array;
}

const scratch = new ByteWriter();

/** What an entry has before its content. */
export interface EntryFields extends Pick<
  Entry,
  "name" | "type" | "mode" | "uid" | "gid" | "mtime"
> {
  /** Of a file; otherwise 0. */
  readonly size: number;
}

/** Encodes an entry, but for the content. */
export function entryBytes(fields: EntryFields, content: Content, after: Uint8Array): EntryBytes {
  const { name, type, mode, uid, gid, mtime, size } = fields;
  scratch.clear();
  scratch.head(ARRAY, 11);
  scratch.byteString(name);
  scratch.integer(TYPES.indexOf(type));
  scratch.integer(mode);
  scratch.integer(uid);
  scratch.integer(gid);
  scratch.integer(mtime.seconds);
  scratch.integer(mtime.nanoseconds);
  scratch.integer(size);
  const before = scratch.view().slice();
  const length = before.length + contentLengthMax(content) + after.length;
  return { name, before, content, after, length, packs: packsOf(content) };
}

/**
 * A decoded entry, with numbers of packs that `rowOfNumber` takes.
 *
 * @param content what it has as its content, which a tree id leaves out
 */
export function bytesOfEntry(entry: Entry, content: Content = contentOf(entry)): EntryBytes {
  const hash = entry.type === "file" || entry.type === "directory" ? entry.hash : null;
  const size = entry.type === "file" ? entry.size : 0;
  return entryBytes({ ...entry, size }, content, encodeAfter(hash, entry.extra));
}

function contentOf(entry: Entry): Content {
  switch (entry.type) {
    case "file":
      return { kind: "pieces", pieces: placedPieces(entry.content) };
    case "directory":
      return { kind: "nodes", nodes: placedNodes(entry.nodes) };
    case "link":
      return { kind: "fixed", item: encodeCborT(entry.target) };
    case "character-device":
    case "block-device":
      return { kind: "fixed", item: encodeCborT([entry.major, entry.minor]) };
    case "fifo":
    case "socket":
    default:
      return { kind: "fixed", item: encodeCborT(null) };
  }
}

/** @param rowOf the number of a pack's row in the pack that this is written to */
export function writeEntry(
  into: ByteWriter,
  { before, content, after }: EntryBytes,
  rowOf: (pack: number) => number,
): void {
  into.raw(before);
  writeContent(into, content, rowOf);
  into.raw(after);
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

/** A decoded entry as its directory's tree id has it. */
export function writeTreeIdEntry(into: ByteWriter, entry: Entry): void {
  const hasPlaces = entry.type === "file" || entry.type === "directory";
  writeTreeIdItem(into, bytesOfEntry(entry, hasPlaces ? NO_PLACES : undefined));
}

const NO_PLACES: Content = { kind: "pieces", pieces: [] };

/** An entry as an item of CBOR-T. */
export function entryItem(entry: Entry): CborItem {
  const into = new ByteWriter();
  writeEntry(into, bytesOfEntry(entry), rowOfNumber);
  return decodeCborT(into.view().slice());
}

/** An entry as an item of CBOR-T, as its directory's tree id has it. */
export function treeIdItem(entry: Entry): CborItem {
  const into = new ByteWriter();
  writeTreeIdEntry(into, entry);
  return decodeCborT(into.view().slice());
}

/** What an entry has beyond the other ten, as an item of CBOR-T. */
function extraItem(extra: Extra): CborItem {
  const fields = new Map<string, CborItem>();
  if (extra.user !== undefined) fields.set("u", extra.user);
  if (extra.group !== undefined) fields.set("g", extra.group);
  if (extra.links !== undefined) fields.set("l", extra.links);
  if (extra.attributes !== undefined && extra.attributes.size > 0) {
    fields.set("x", extra.attributes);
  }
  if (extra.inconsistent === true) fields.set("i", 1);
  return fields;
}
