import { type CborMap, decodeCbor, encodeCborParts } from "./cbor.ts";
import { INLINE_MAX, REFERENCE_LENGTH, ROOT_PLAINTEXT_MAX } from "./limits.ts";
import { type Metadata, metadataFromCbor } from "./metadata.ts";
import { type TreeShape, checkedShape } from "./tree.ts";
import { onlyZeros, totalLength, writeAll } from "../bytes.ts";
import { StorageError } from "../errors.ts";
import { padme } from "./padding.ts";

/** A decoded root. */
export interface Root {
  /** Bytes of content as stored: compressed, if the metadata names an encoding. */
  readonly contentLength: number;
  /** Zero bytes after the content. */
  readonly padding: number;
  readonly shape: TreeShape;
  readonly metadata: Metadata;
  /** Inline content, or the references of the top level. A view of the plaintext. */
  readonly body: Uint8Array;
}

/** What a root records. Each field is one entry of its map. */
export interface RootFields {
  /** `d`: levels of the tree; 0 for inline content. */
  readonly depth: number;
  /** `k`: the chunk size is two to this power; 0 for inline content. */
  readonly chunkLog2: number;
  /** `n`: bytes of content as stored. */
  readonly contentLength: number;
  /** `p`: zero bytes after the content. */
  readonly padding: number;
  /** `m` */
  readonly metadata: CborMap;
  /** `b`: inline content, or the references of the top level. */
  readonly body: Uint8Array;
}

/** Bytes of the map's length, which precedes the map. */
const MAP_LENGTH_BYTES = 4;

/** A root's plaintext, of known length, to be written to the memory where it will be sealed. */
export interface EncodedRoot {
  readonly length: number;
  /** Writes it, including padding, to memory of exactly its length. */
  write(into: Uint8Array): void;
}

/** Encodes a root's plaintext without copying the body; `pad` rounds its length up by Padmé. */
export function encodeRoot(root: RootFields, pad: boolean): EncodedRoot {
  const map = encodeCborParts(
    new Map<string, CborMap | Uint8Array | number>([
      ["b", root.body],
      ["d", root.depth],
      ["k", root.chunkLog2],
      ["m", root.metadata],
      ["n", root.contentLength],
      ["p", root.padding],
    ]),
  );
  const mapLength = totalLength(map);
  const end = MAP_LENGTH_BYTES + mapLength;
  return {
    length: pad ? padme(end) : end,
    write(into) {
      new DataView(into.buffer, into.byteOffset).setUint32(0, mapLength);
      writeAll(into.subarray(MAP_LENGTH_BYTES), map);
      into.fill(0, end);
    },
  };
}

/**
 * Decodes and checks a root's plaintext. Only the body of the result is a view of it.
 *
 * @throws StorageError `root`
 */
export function decodeRoot(plaintext: Uint8Array): Root {
  if (plaintext.length < MAP_LENGTH_BYTES || plaintext.length > ROOT_PLAINTEXT_MAX) {
    throw malformed("its length is outside the format's limits");
  }
  const view = new DataView(plaintext.buffer, plaintext.byteOffset, plaintext.byteLength);
  const end = MAP_LENGTH_BYTES + view.getUint32(0);
  if (end > plaintext.length) throw malformed("its map is truncated");
  if (!onlyZeros(plaintext.subarray(end))) throw malformed("its padding is not zero");

  let map: CborMap;
  try {
    map = decodeCbor(plaintext.subarray(MAP_LENGTH_BYTES, end));
  } catch (cause) {
    throw malformed("its map is not canonical", cause);
  }
  const body = map.get("b");
  const entries = map.get("m");
  if (map.size !== 6 || !(body instanceof Uint8Array) || !(entries instanceof Map)) {
    throw malformed("its entries are not those of the format");
  }
  const contentLength = integer(map, "n");
  const padding = integer(map, "p");
  const depth = integer(map, "d");
  const shape = checkedShape({ depth, chunkLog2: integer(map, "k"), contentLength, padding });
  if (shape === undefined) throw malformed("its sizes contradict each other");
  const top = shape.counts.at(-1);
  const bodyLength = top === undefined ? contentLength : top * REFERENCE_LENGTH;
  if (body.length > INLINE_MAX || body.length !== bodyLength) {
    throw malformed("its content or references have the wrong length");
  }
  const metadata = metadataFromCbor(entries);
  if (metadata === undefined) throw malformed("its metadata is outside the format's limits");
  return { contentLength, padding, shape, metadata, body };
}

function integer(map: CborMap, key: string): number {
  const value = map.get(key);
  if (typeof value !== "number") throw malformed(`"${key}" is not an integer`);
  return value;
}

function malformed(why: string, cause?: unknown): StorageError {
  return new StorageError("root", `this blob's root is malformed: ${why}`, { cause });
}
