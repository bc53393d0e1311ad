import {
  type ContentItem,
  ENTRY_LEVELS,
  type NodeReference,
  type Place,
  decodeContent,
  decodeNodeReferences,
  entryName,
} from "./content.ts";
import { HASH_LENGTH, LINK_TARGET_MAX, MODE_MAX, USER_ID_MAX } from "../limits.ts";
import { byteString, integer, malformed, map, text, tuple, uint } from "../checks.ts";
import type { CborItem } from "@idk/storage/blobs";

/** What every entry of a directory has. */
interface EntryCommon {
  /** 1 to 255 bytes, which need not be UTF-8. */
  readonly name: Uint8Array;
  /** The lower 12 bits. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Time of the last change: seconds since 1970, which may be negative, and nanoseconds from there. */
  readonly mtime: { readonly seconds: number; readonly nanoseconds: number };
  readonly extra: Extra;
}

export interface Extra {
  /** The owner's name. */
  readonly user?: string;
  /** The group's name. */
  readonly group?: string;
  /** The number of the group of hard links it is in, the same from one snapshot to the next. */
  readonly links?: number;
  /** Extended attributes, at least one. */
  readonly attributes?: ReadonlyMap<string, Uint8Array>;
  /** True if the file changed in each of three attempts to read it. */
  readonly inconsistent?: true;
}

export interface FileEntry extends EntryCommon {
  readonly type: "file";
  readonly size: number;
  readonly content: readonly ContentItem[];
  /** SHA-256 of the content. */
  readonly hash: Uint8Array;
}

export interface DirectoryEntry extends EntryCommon {
  readonly type: "directory";
  /** None if it is empty. */
  readonly nodes: readonly NodeReference[];
  /** Its tree id. */
  readonly hash: Uint8Array;
}

export interface LinkEntry extends EntryCommon {
  readonly type: "link";
  readonly target: Uint8Array;
}

export interface DeviceEntry extends EntryCommon {
  readonly type: "character-device" | "block-device";
  readonly major: number;
  readonly minor: number;
}

export interface SpecialEntry extends EntryCommon {
  readonly type: "fifo" | "socket";
}

/** A name in a directory, and what it stands for. */
export type Entry = FileEntry | DirectoryEntry | LinkEntry | DeviceEntry | SpecialEntry;

/** By the number in the format. */
export const TYPES = [
  "file",
  "directory",
  "link",
  "fifo",
  "socket",
  "character-device",
  "block-device",
] as const satisfies readonly Entry["type"][];

const NANOSECONDS_MAX = 10 ** 9 - 1;

/** Decodes an entry of a node that lies at a place. */
export function decodeEntry(item: CborItem, place: Place): Entry {
  const fields = tuple(item, "an entry", 11);
  const type = TYPES[uint(fields[1], "the type of an entry", TYPES.length - 1)]!;
  const common: EntryCommon = {
    name: entryName(fields[0]),
    mode: uint(fields[2], "a mode", MODE_MAX),
    uid: uint(fields[3], "a user id", USER_ID_MAX),
    gid: uint(fields[4], "a group id", USER_ID_MAX),
    mtime: {
      seconds: integer(fields[5], "a time"),
      nanoseconds: uint(fields[6], "the nanoseconds of a time", NANOSECONDS_MAX),
    },
    extra: decodeExtra(fields[10], type),
  };
  const [size, content, hash] = [fields[7], fields[8], fields[9]];
  if (type === "file") {
    const length = uint(size, "the size of a file");
    return {
      type,
      ...common,
      size: length,
      content: decodeContent(content, length, place, ENTRY_LEVELS),
      hash: byteString(hash, "the hash of a file", HASH_LENGTH),
    };
  }
  if (size !== 0) throw malformed("what is not a file has a size");
  if (type === "directory") {
    return {
      type,
      ...common,
      nodes: decodeNodeReferences(content, place),
      hash: byteString(hash, "the tree id of a directory", HASH_LENGTH),
    };
  }
  if (hash !== null) throw malformed("what is neither a file nor a directory has a hash");
  if (type === "link") return { type, ...common, target: linkTarget(content) };
  if (type === "fifo" || type === "socket") {
    if (content !== null) throw malformed("a fifo or socket has content");
    return { type, ...common };
  }
  const numbers = tuple(content, "the numbers of a device", 2);
  return {
    type,
    ...common,
    major: uint(numbers[0], "the major number of a device"),
    minor: uint(numbers[1], "the minor number of a device"),
  };
}

function linkTarget(item: CborItem | undefined): Uint8Array {
  const target = byteString(item, "the target of a link");
  if (target.length === 0 || target.length > LINK_TARGET_MAX || target.includes(0)) {
    throw malformed(`the target of a link is not 1 to ${LINK_TARGET_MAX} bytes without zero`);
  }
  return target;
}

/** An entry without anything in `extra` is the usual one. */
const NOTHING: Extra = Object.freeze({});

function decodeExtra(item: CborItem | undefined, type: Entry["type"]): Extra {
  const fields = map(item, "the extra fields of an entry");
  if (fields.size === 0) return NOTHING;
  const extra: { -readonly [Key in keyof Extra]: Extra[Key] } = {};
  for (const [key, value] of fields) {
    if (key === "u") {
      extra.user = text(value, "the name of an owner");
    } else if (key === "g") {
      extra.group = text(value, "the name of a group");
    } else if (key === "l") {
      if (type === "directory") throw malformed("a directory is in a group of hard links");
      extra.links = uint(value, "the number of a group of hard links");
    } else if (key === "x") {
      extra.attributes = decodeAttributes(value);
    } else if (key === "i") {
      if (type !== "file" || value !== 1) throw malformed("the mark of a changed file is wrong");
      extra.inconsistent = true;
    } else {
      throw malformed("the extra fields of an entry have a key that is not allowed");
    }
  }
  return extra;
}

function decodeAttributes(item: CborItem): ReadonlyMap<string, Uint8Array> {
  const attributes = map(item, "the extended attributes");
  if (attributes.size === 0)
    throw malformed("there are no extended attributes, and a key for them");
  for (const value of attributes.values()) byteString(value, "an extended attribute");
  return attributes as ReadonlyMap<string, Uint8Array>;
}
