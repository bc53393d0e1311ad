import type { Content, PlacedNode, PlacedPiece } from "./content.ts";
import type { FileType } from "../../files/host.ts";

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

export function encodeValue({ uid, gid, links, after, content }: RecordValue): Uint8Array {
  const start = HEAD + after.length;
  const bytes = new Uint8Array(start + lengthOf(content));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, uid);
  view.setUint32(4, gid);
  view.setFloat64(8, links === undefined ? 0 : links + 1);
  view.setUint32(16, after.length);
  bytes.set(after, HEAD);
  let at = start;
  switch (content.kind) {
    case "pieces":
      writePieces(content.pieces, view, at);
      break;
    case "nodes":
      for (const { pack, offset, length, name } of content.nodes) {
        view.setUint32(at, pack);
        view.setUint32(at + 4, offset);
        view.setUint32(at + 8, length);
        view.setUint8(at + 12, name.length);
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

function writePieces(pieces: readonly PlacedPiece[], view: DataView, start: number): void {
  let at = start;
  for (const { pack, offset, stored, length, encoding } of pieces) {
    view.setUint32(at, pack);
    view.setUint32(at + 4, offset);
    view.setUint32(at + 8, stored);
    view.setFloat64(at + 12, length);
    view.setUint8(at + 20, encoding);
    at += PIECE;
  }
}

/** Encodes the items of a piece list. */
export function encodePieces(pieces: readonly PlacedPiece[]): Uint8Array {
  const bytes = new Uint8Array(pieces.length * PIECE);
  writePieces(pieces, new DataView(bytes.buffer), 0);
  return bytes;
}

/** Decodes the items of a piece list. */
export function decodePieces(bytes: Uint8Array): PlacedPiece[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const pieces: PlacedPiece[] = [];
  for (let at = 0; at + PIECE <= bytes.length; at += PIECE) {
    pieces.push({
      pack: view.getUint32(at),
      offset: view.getUint32(at + 4),
      stored: view.getUint32(at + 8),
      length: view.getFloat64(at + 12),
      encoding: view.getUint8(at + 20),
    });
  }
  return pieces;
}

/** Decodes a value. Byte strings are views. */
export function decodeValue(bytes: Uint8Array, type: FileType): RecordValue {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const start = HEAD + view.getUint32(16);
  const links = view.getFloat64(8);
  return {
    uid: view.getUint32(0),
    gid: view.getUint32(4),
    links: links === 0 ? undefined : links - 1,
    after: bytes.subarray(HEAD, start),
    content: decodeContent(bytes.subarray(start), type),
  };
}

function decodeContent(bytes: Uint8Array, type: FileType): Content {
  if (type === "file") return { kind: "pieces", pieces: decodePieces(bytes) };
  if (type !== "directory") return { kind: "fixed", item: bytes };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const nodes: PlacedNode[] = [];
  for (let at = 0; at < bytes.length;) {
    const start = at + NODE;
    const end = start + view.getUint8(at + 12);
    nodes.push({
      pack: view.getUint32(at),
      offset: view.getUint32(at + 4),
      length: view.getUint32(at + 8),
      name: bytes.subarray(start, end),
    });
    at = end;
  }
  return { kind: "nodes", nodes };
}

/** The number of the group of hard links in a value. */
export function linksOf(value: Uint8Array): number | undefined {
  const view = new DataView(value.buffer, value.byteOffset, HEAD);
  const links = view.getFloat64(8);
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
  const view = new DataView(value.buffer, value.byteOffset, value.length);
  for (let at = HEAD + view.getUint32(16); at < value.length; at += PIECE) {
    const pack = view.getUint32(at);
    if (pack === 0) continue;
    const isList = view.getUint8(at + 20) === 3;
    if (!each(pack, view.getUint32(at + 4), view.getUint32(at + 8), isList)) return false;
  }
  return true;
}
