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

/** A root to be encoded. */
export interface RootDraft {
  readonly depth: number;
  readonly chunkLog2: number;
  readonly contentLength: number;
  readonly padding: number;
  readonly metadata: CborMap;
  readonly body: Uint8Array;
}

const LENGTH_PREFIX = 4;

/** An encoded root of known length, to be written to the memory where it will be sealed. */
export interface RootLayout {
  readonly length: number;
  /** Writes it, including padding, to memory of exactly its length. */
  write(into: Uint8Array): void;
}

/** Lays out a root's plaintext without copying the body; `pad` rounds its length up by Padmé. */
export function layOutRoot(draft: RootDraft, pad: boolean): RootLayout {
  const map = encodeCborParts(
    new Map<string, CborMap | Uint8Array | number>([
      ["b", draft.body],
      ["d", draft.depth],
      ["k", draft.chunkLog2],
      ["m", draft.metadata],
      ["n", draft.contentLength],
      ["p", draft.padding],
    ]),
  );
  const mapLength = totalLength(map);
  const end = LENGTH_PREFIX + mapLength;
  return {
    length: pad ? padme(end) : end,
    write(into) {
      new DataView(into.buffer, into.byteOffset).setUint32(0, mapLength);
      writeAll(into.subarray(LENGTH_PREFIX), map);
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
  if (plaintext.length < LENGTH_PREFIX || plaintext.length > ROOT_PLAINTEXT_MAX) {
    throw malformed("its length is outside the format's limits");
  }
  const view = new DataView(plaintext.buffer, plaintext.byteOffset, plaintext.byteLength);
  const end = LENGTH_PREFIX + view.getUint32(0);
  if (end > plaintext.length) throw malformed("its map is truncated");
  if (!onlyZeros(plaintext.subarray(end))) throw malformed("its padding is not zero");

  let map: CborMap;
  try {
    map = decodeCbor(plaintext.subarray(LENGTH_PREFIX, end));
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
