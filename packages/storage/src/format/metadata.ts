import { type CborMap, type CborValue, encodeCbor } from "./cbor.ts";
import { METADATA_KEY_MAX, METADATA_MAX } from "./limits.ts";
import { typeName, utf8 } from "../bytes.ts";
import { usage } from "../errors.ts";

/** A text, bytes, or an integer from 0 to 2^53−1. */
export type MetadataValue = string | number | Uint8Array;

/**
 * What travels sealed inside the root, next to the content: at most 65,536 bytes encoded, keys
 * of 1 to 255 bytes. It is as secret as the content and as trustworthy as whoever wrote it.
 */
export interface Metadata {
  /** A label for people. Never a path: a reader must not write where it points. */
  readonly name?: string;
  /** A media type, such as `text/plain`. */
  readonly type?: string;
  /** Milliseconds since 1970. */
  readonly mtime?: number;
  readonly [key: string]: MetadataValue | undefined;
}

/** How content is encoded, as its metadata says (docs/format.md, "Encoded content"). */
export interface ContentEncoding {
  readonly enc: "lz4" | "zstd";
  /** Bytes of the content once decoded. */
  readonly len: number;
}

/** Keys a writer sets itself when it encodes the content. */
const RESERVED_FOR_WRITERS = ["enc", "len"] as const;

/**
 * Checks a caller's metadata and turns it into CBOR entries; undefined values are left out and
 * byte strings are copied.
 *
 * @throws StorageError `usage`
 */
export function metadataToCbor(metadata: Metadata): CborMap {
  if (typeof metadata !== "object" || metadata === null || Symbol.iterator in metadata) {
    throw usage(`metadata must be a plain object, got ${typeName(metadata)}`);
  }
  const map: CborMap = new Map();
  for (const [key, value] of Object.entries(metadata)) {
    if (value === undefined) continue;
    map.set(checkedKey(key), checkedValue(key, value));
  }
  checkType(map, "name", "string");
  checkType(map, "type", "string");
  checkType(map, "mtime", "number");
  for (const key of RESERVED_FOR_WRITERS) {
    if (map.has(key)) throw usage(`the metadata key "${key}" is set by the writer, not by callers`);
  }
  assertFits(map);
  return map;
}

/**
 * Metadata that says how the content is encoded.
 *
 * @throws StorageError `usage` where that makes it too long
 */
export function withEncoding(metadata: CborMap, { enc, len }: ContentEncoding): CborMap {
  const map: CborMap = new Map([...metadata, ["enc", enc], ["len", len]]);
  assertFits(map);
  return map;
}

function assertFits(map: CborMap): void {
  const length = encodeCbor(map).length;
  if (length > METADATA_MAX) {
    throw usage(`the metadata takes ${length} bytes encoded and may take ${METADATA_MAX}`);
  }
}

/**
 * Checks what a root holds under `m`, whose encoded length the decoder has checked. Keys such as
 * `__proto__` are keys like any other: the object has no prototype.
 *
 * @returns undefined where the entries are not metadata of the format
 */
export function metadataFromCbor(map: CborMap): Metadata | undefined {
  const metadata: Record<string, MetadataValue> = Object.create(null);
  for (const [key, value] of map) {
    const length = utf8(key).length;
    if (length < 1 || length > METADATA_KEY_MAX || value instanceof Map) return undefined;
    // A copy, because decoded byte strings are views of a buffer that will be used again.
    metadata[key] = value instanceof Uint8Array ? new Uint8Array(value) : value;
  }
  return metadata;
}

/** The entries of metadata that was read from a root, unchanged. */
export function metadataEntries(metadata: Metadata): CborMap {
  const map: CborMap = new Map();
  for (const [key, value] of Object.entries(metadata)) if (value !== undefined) map.set(key, value);
  return map;
}

function checkedKey(key: string): string {
  const length = utf8(key).length;
  if (length < 1 || length > METADATA_KEY_MAX) {
    throw usage(`a metadata key is ${length} bytes long and may be 1 to ${METADATA_KEY_MAX}`);
  }
  return wellFormed(`the metadata key "${key}"`, key);
}

function checkedValue(key: string, value: unknown): CborValue {
  if (typeof value === "string") return wellFormed(`the metadata value of "${key}"`, value);
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw usage(
    `the metadata value of "${key}" must be text, bytes or an integer from 0 to 2^53-1, got ` +
      (typeof value === "number" ? "another number" : typeName(value)),
  );
}

/** A lone surrogate has no UTF-8: it would come back as another text. */
function wellFormed(what: string, text: string): string {
  if (!text.isWellFormed()) throw usage(`${what} is not well-formed Unicode`);
  return text;
}

function checkType(map: CborMap, key: string, type: "string" | "number"): void {
  const value = map.get(key);
  if (value !== undefined && typeof value !== type) {
    throw usage(`the metadata key "${key}" must be a ${type}, got ${typeName(value)}`);
  }
}
