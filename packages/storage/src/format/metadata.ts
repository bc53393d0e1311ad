import { type CborMap, type CborValue, encodeCbor } from "./cbor.ts";
import { METADATA_KEY_MAX, METADATA_MAX } from "./limits.ts";
import { typeName, utf8 } from "../bytes.ts";
import { usage } from "../errors.ts";

/** Text, bytes, or an integer from 0 to 2^53−1. */
export type MetadataValue = string | number | Uint8Array;

/**
 * Metadata, sealed in the root together with the content: at most 65,536 bytes encoded, keys of 1 to
 * 255 bytes. It is as secret as the content, and as trustworthy as its writer.
 */
export interface Metadata {
  /** A label for people. Never a path: a reader must not write to where it points. */
  readonly name?: string;
  /** A media type, such as `text/plain`. */
  readonly type?: string;
  /** Milliseconds since 1970. */
  readonly mtime?: number;
  readonly [key: string]: MetadataValue | undefined;
}

/** How content is compressed, according to its metadata (docs/format.md, "Encoded content"). */
export interface ContentEncoding {
  readonly enc: "lz4" | "zstd";
  /** Bytes of the content once decoded. */
  readonly len: number;
}

/** Keys that the writer sets itself when it compresses the content. */
const RESERVED_FOR_WRITERS = ["enc", "len"] as const;

/**
 * Checks a caller's metadata and converts it to CBOR entries. Undefined values are omitted, and byte
 * strings are copied.
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
 * Adds the content's encoding to metadata.
 *
 * @throws StorageError `usage` if that makes it too long
 */
export function withEncoding(metadata: CborMap, { enc, len }: ContentEncoding): CborMap {
  const map: CborMap = new Map([...metadata, ["enc", enc], ["len", len]]);
  assertFits(map);
  return map;
}

function assertFits(map: CborMap): void {
  const length = encodeCbor(map).length;
  if (length > METADATA_MAX) {
    throw usage(`the metadata is ${length} bytes encoded, and the limit is ${METADATA_MAX}`);
  }
}

/**
 * Checks the metadata of a root, whose encoded length the decoder has already checked. The object
 * has no prototype, so keys such as `__proto__` are ordinary keys.
 *
 * @returns undefined if the entries are not valid metadata
 */
export function metadataFromCbor(map: CborMap): Metadata | undefined {
  const metadata: Record<string, MetadataValue> = Object.create(null);
  for (const [key, value] of map) {
    const length = utf8(key).length;
    if (length < 1 || length > METADATA_KEY_MAX || value instanceof Map) return undefined;
    // A copy, because decoded byte strings are views of a buffer that will be reused.
    metadata[key] = value instanceof Uint8Array ? new Uint8Array(value) : value;
  }
  return metadata;
}

/** The entries of metadata that was read from a root. */
export function metadataEntries(metadata: Metadata): CborMap {
  const map: CborMap = new Map();
  for (const [key, value] of Object.entries(metadata)) if (value !== undefined) map.set(key, value);
  return map;
}

function checkedKey(key: string): string {
  const length = utf8(key).length;
  if (length < 1 || length > METADATA_KEY_MAX) {
    throw usage(`a metadata key must be 1 to ${METADATA_KEY_MAX} bytes long, got ${length}`);
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

/** A lone surrogate has no UTF-8 encoding, so different text would be read back. */
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
