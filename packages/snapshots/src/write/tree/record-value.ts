import type { Content, PlacedNode, PlacedPiece } from "../../format/tree/encode-content.ts";
import { type EntryBytes, entryBytes } from "../../format/tree/encode-entry.ts";
import type { CacheRecord } from "../../cache/record.ts";
import type { FileType } from "../../files/host.ts";
import { LIST } from "../../format/packs/piece.ts";

/**
 * What the cache keeps of an entry beyond its state, so that its directory can be written again without
 * reading anything: owner, group of hard links, the encoded hash and extra fields, and where its content
 * lies. A folder has it in the record of its end.
 */
export interface RecordValue {
  readonly uid: number;
  readonly gid: number;
  /** The number of its group of hard links. */
  readonly links: number | undefined;
  /** The last two items of the entry, encoded. */
  readonly after: Uint8Array;
  readonly content: Content;
}

/** uid, gid, links plus one, length of `after`. */
const HEAD = 4 + 4 + 8 + 4;
/** pack, offset, stored, length, encoding. */
const PIECE = 4 + 4 + 4 + 8 + 1;
/** pack, offset, length, length of the name. */
const NODE = 4 + 4 + 4 + 1;

// A DataView of a short array makes the runtime move its bytes to memory of their own.
const float = new Float64Array(1);
const floatBytes = new Uint8Array(float.buffer);

function setUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

function getUint32(bytes: Uint8Array, at: number): number {
  return bytes[at]! * 2 ** 24 + ((bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!);
}

/** In the byte order of this host, which the cache never leaves. */
function setFloat64(bytes: Uint8Array, at: number, value: number): void {
  float[0] = value;
  for (let i = 0; i < 8; i += 1) bytes[at + i] = floatBytes[i]!;
}

function getFloat64(bytes: Uint8Array, at: number): number {
  for (let i = 0; i < 8; i += 1) floatBytes[i] = bytes[at + i]!;
  return float[0]!;
}

export function encodeValue({ uid, gid, links, after, content }: RecordValue): Uint8Array {
  const start = HEAD + after.length;
  const bytes = new Uint8Array(start + lengthOf(content));
  setUint32(bytes, 0, uid);
  setUint32(bytes, 4, gid);
  setFloat64(bytes, 8, links === undefined ? 0 : links + 1);
  setUint32(bytes, 16, after.length);
  bytes.set(after, HEAD);
  let at = start;
  switch (content.kind) {
    case "pieces":
      writePieces(content.pieces, bytes, at);
      break;
    case "nodes":
      for (const { pack, offset, length, name } of content.nodes) {
        setUint32(bytes, at, pack);
        setUint32(bytes, at + 4, offset);
        setUint32(bytes, at + 8, length);
        bytes[at + 12] = name.length;
        bytes.set(name, at + NODE);
        at += NODE + name.length;
      }
      break;
    case "fixed":
    default:
      bytes.set(content.item, at);
  }
  return bytes;
}

function lengthOf(content: Content): number {
  if (content.kind === "fixed") return content.item.length;
  if (content.kind === "pieces") return content.pieces.length * PIECE;
  return content.nodes.reduce((sum, { name }) => sum + NODE + name.length, 0);
}

function writePieces(pieces: readonly PlacedPiece[], bytes: Uint8Array, start: number): void {
  let at = start;
  for (const { pack, offset, stored, length, encoding } of pieces) {
    setUint32(bytes, at, pack);
    setUint32(bytes, at + 4, offset);
    setUint32(bytes, at + 8, stored);
    setFloat64(bytes, at + 12, length);
    bytes[at + 20] = encoding;
    at += PIECE;
  }
}

/** Encodes the items of a piece list. */
export function encodePieces(pieces: readonly PlacedPiece[]): Uint8Array {
  const bytes = new Uint8Array(pieces.length * PIECE);
  writePieces(pieces, bytes, 0);
  return bytes;
}

/** Decodes the items of a piece list. */
export function decodePieces(bytes: Uint8Array): PlacedPiece[] {
  const pieces: PlacedPiece[] = [];
  for (let at = 0; at + PIECE <= bytes.length; at += PIECE) {
    pieces.push({
      pack: getUint32(bytes, at),
      offset: getUint32(bytes, at + 4),
      stored: getUint32(bytes, at + 8),
      length: getFloat64(bytes, at + 12),
      encoding: bytes[at + 20]!,
    });
  }
  return pieces;
}

/** Decodes a value. Byte strings are views. */
export function decodeValue(bytes: Uint8Array, type: FileType): RecordValue {
  const start = HEAD + getUint32(bytes, 16);
  const links = getFloat64(bytes, 8);
  return {
    uid: getUint32(bytes, 0),
    gid: getUint32(bytes, 4),
    links: links === 0 ? undefined : links - 1,
    after: bytes.subarray(HEAD, start),
    content: decodeContent(bytes.subarray(start), type),
  };
}

/** The entry of a record: of a folder, of that of its end. */
export function entryOf({ name, state, value }: CacheRecord): EntryBytes {
  const { uid, gid, after, content } = decodeValue(value, state.type);
  const { type, mode, mtime } = state;
  const size = type === "file" ? state.size : 0;
  return entryBytes({ name, type, mode, uid, gid, mtime, size }, content, after);
}

function decodeContent(bytes: Uint8Array, type: FileType): Content {
  if (type === "file") return { kind: "pieces", pieces: decodePieces(bytes) };
  if (type !== "directory") return { kind: "fixed", item: bytes };
  const nodes: PlacedNode[] = [];
  for (let at = 0; at < bytes.length;) {
    const start = at + NODE;
    const end = start + bytes[at + 12]!;
    nodes.push({
      pack: getUint32(bytes, at),
      offset: getUint32(bytes, at + 4),
      length: getUint32(bytes, at + 8),
      name: bytes.subarray(start, end),
    });
    at = end;
  }
  return { kind: "nodes", nodes };
}

/** The last two items of the entry in a value, a view. */
export function afterIn(value: Uint8Array): Uint8Array {
  return value.subarray(HEAD, HEAD + getUint32(value, 16));
}

/** The number of the group of hard links in a value. */
export function linksOf(value: Uint8Array): number | undefined {
  const links = getFloat64(value, 8);
  return links === 0 ? undefined : links - 1;
}

/**
 * Calls back for each place that the value of a file refers to itself, without decoding the rest: of a
 * million unchanged files nothing else is needed.
 *
 * @returns false as soon as the callback does
 */
export function everyPiece(
  value: Uint8Array,
  each: (pack: number, offset: number, stored: number, isList: boolean) => boolean,
): boolean {
  for (let at = HEAD + getUint32(value, 16); at < value.length; at += PIECE) {
    const pack = getUint32(value, at);
    if (pack === 0) continue;
    const isList = value[at + 20] === LIST;
    if (!each(pack, getUint32(value, at + 4), getUint32(value, at + 8), isList)) return false;
  }
  return true;
}
