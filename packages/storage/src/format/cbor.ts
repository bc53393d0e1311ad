import { METADATA_MAX } from "./limits.ts";
import { compare, concatAll, typeName, utf8 } from "../bytes.ts";
import { usage } from "../errors.ts";

/**
 * Deterministic CBOR (RFC 8949, section 4.2.1): definite lengths, shortest forms, integers of at most
 * 53 bits, byte strings, well-formed text, and maps with unique text keys in bytewise order of their
 * encodings. Every value has exactly one encoding, and the decoder accepts no other.
 *
 * Two profiles of it: that of headers and roots, which are maps of maps, and CBOR-T, which adds
 * arrays, negative integers and null, for formats that are built over blobs.
 *
 * Our own, because the input comes from anyone who can write to the store: a general decoder does
 * work for tags and shared values before the caller can reject them (docs/decisions/0001).
 */
interface Profile {
  /** Levels of maps and arrays, the outermost included. */
  readonly depthMax: number;
  /** Whether there are arrays, negative integers and null. */
  readonly wide: boolean;
  /** Encoded bytes of a map that is not the outermost. */
  readonly innerMapMax: number;
}

/** The only inner map of headers and roots is the metadata of a root. */
const BLOBS: Profile = { depthMax: 2, wide: false, innerMapMax: METADATA_MAX };
const CBOR_T: Profile = { depthMax: 6, wide: true, innerMapMax: Infinity };

/** A value of headers and roots. Integers are unsigned. */
export type CborValue = number | string | Uint8Array | CborMap;
export type CborMap = Map<string, CborValue>;

/** A value of CBOR-T. Integers have an absolute value of at most 2^53−1. */
export type CborItem =
  | null
  | number
  | string
  | Uint8Array
  | readonly CborItem[]
  | ReadonlyMap<string, CborItem>;

/** Malformed CBOR; the caller turns it into an error that names what was malformed. */
export class CborError extends Error {
  override readonly name = "CborError";
}

/** Options of `decodeCborT`. */
export interface CborLimits {
  /**
   * Items in all, arrays, maps and what they hold, by default 2^19. A decoded item takes up to about
   * 150 bytes of memory, and an encoded one as little as a single byte.
   */
  readonly itemsMax?: number;
}

const ITEMS_MAX = 2 ** 19;

const UNSIGNED = 0;
const NEGATIVE = 1;
const BYTES = 2;
const TEXT = 3;
const ARRAY = 4;
const MAP = 5;
const SIMPLE = 7;
const NULL = 22;

/** Encodes a map; the order of its entries does not matter. */
export function encodeCbor(map: CborMap): Uint8Array<ArrayBuffer> {
  return concatAll(encodeCborParts(map));
}

/** Encodes a map as pieces to be concatenated, without copying its long byte strings. */
export function encodeCborParts(map: CborMap): Uint8Array[] {
  return encode(map, BLOBS);
}

/**
 * Encodes a value of CBOR-T. The order of a map's entries does not matter.
 *
 * @returns new memory
 * @throws StorageError `usage` if the value has no encoding: another type, an integer beyond 53 bits,
 *   text that is not well-formed, more than six levels
 */
export function encodeCborT(item: CborItem): Uint8Array<ArrayBuffer> {
  return concatAll(encode(item, CBOR_T));
}

function encode(item: CborItem, profile: Profile): Uint8Array[] {
  const writer = createWriter();
  writeItem(writer, item, profile, 1);
  return writer.parts();
}

function writeItem(writer: Writer, item: CborItem, profile: Profile, depth: number): void {
  if (typeof item === "number") {
    if (!Number.isSafeInteger(item) || (item < 0 && !profile.wide)) {
      throw noEncoding("a number that is not an integer of the profile");
    }
    writer.head(item < 0 ? NEGATIVE : UNSIGNED, item < 0 ? -1 - item : item);
  } else if (typeof item === "string") {
    writer.text(encodedText(item));
  } else if (item instanceof Uint8Array) {
    writer.head(BYTES, item.length);
    writer.bytes(item);
  } else if (item instanceof Map) {
    assertDepth(depth, profile);
    const entries = Array.from(item as ReadonlyMap<string, CborItem>, ([key, value]) => ({
      key: encodedText(key),
      value,
    }));
    // In the order of the encodings, whose heads have the length: shorter texts come first.
    entries.sort((a, b) => a.key.length - b.key.length || compare(a.key, b.key));
    writer.head(MAP, entries.length);
    for (const { key, value } of entries) {
      writer.text(key);
      writeItem(writer, value, profile, depth + 1);
    }
  } else if (item === null && profile.wide) {
    writer.head(SIMPLE, NULL);
  } else if (Array.isArray(item) && profile.wide) {
    assertDepth(depth, profile);
    const items: readonly CborItem[] = item;
    writer.head(ARRAY, items.length);
    for (const inner of items) writeItem(writer, inner, profile, depth + 1);
  } else {
    throw noEncoding(`a value of type ${typeName(item)}`);
  }
}

function assertDepth(depth: number, profile: Profile): void {
  if (depth > profile.depthMax) throw noEncoding(`more than ${profile.depthMax} levels`);
}

function encodedText(text: string): Uint8Array {
  if (typeof text !== "string") throw noEncoding(`a key of type ${typeName(text)}`);
  // A lone surrogate would be replaced, so that different text would be read back.
  if (!text.isWellFormed()) throw noEncoding("text that is not well-formed Unicode");
  return utf8(text);
}

function noEncoding(what: string): Error {
  return usage(`${what} has no encoding in this profile of CBOR`);
}

interface Writer {
  /** A major type with its argument in the shortest form. */
  head(major: number, argument: number): void;
  /** Head and bytes of a text. */
  text(utf8: Uint8Array): void;
  bytes(bytes: Uint8Array): void;
  /** All that was written. Long byte strings are the caller's own memory. */
  parts(): Uint8Array[];
}

/** Byte strings from this length on are parts of their own instead of copies. */
const PART_MIN = 4096;
const HEAD_MAX = 9;

function createWriter(): Writer {
  const parts: Uint8Array[] = [];
  let block = new Uint8Array(256);
  let view = new DataView(block.buffer);
  let start = 0;
  let end = 0;

  const finishPart = (): void => {
    if (end > start) parts.push(block.subarray(start, end));
    start = end;
  };
  const makeRoom = (length: number): void => {
    if (block.length - end >= length) return;
    finishPart();
    block = new Uint8Array(Math.min(2 * block.length, 2 ** 16) + length);
    view = new DataView(block.buffer);
    start = end = 0;
  };
  const head = (major: number, argument: number): void => {
    makeRoom(HEAD_MAX);
    const type = major << 5;
    if (argument < 24) {
      block[end++] = type | argument;
    } else if (argument < 2 ** 8) {
      block[end++] = type | 24;
      block[end++] = argument;
    } else if (argument < 2 ** 16) {
      block[end++] = type | 25;
      view.setUint16(end, argument);
      end += 2;
    } else {
      const long = argument >= 2 ** 32;
      block[end++] = type | (long ? 27 : 26);
      if (long) {
        view.setUint32(end, Math.floor(argument / 2 ** 32));
        end += 4;
      }
      view.setUint32(end, argument % 2 ** 32);
      end += 4;
    }
  };
  const bytes = (value: Uint8Array): void => {
    if (value.length >= PART_MIN) {
      finishPart();
      parts.push(value);
      return;
    }
    makeRoom(value.length);
    block.set(value, end);
    end += value.length;
  };

  return {
    head,
    bytes,
    text(encoded) {
      head(TEXT, encoded.length);
      bytes(encoded);
    },
    parts() {
      finishPart();
      return parts;
    },
  };
}

/**
 * Decodes one map that fills `bytes` exactly. Byte strings are views of `bytes`. Work and memory
 * grow only with the length of the input, whatever lengths it claims.
 *
 * @throws CborError if the bytes are not the encoding of a map of the profile
 */
export function decodeCbor(bytes: Uint8Array): CborMap {
  const item = decode(bytes, BLOBS, Infinity);
  if (!(item instanceof Map)) throw new CborError("this is not a map");
  return item as CborMap;
}

/**
 * Decodes one value of CBOR-T that fills `bytes` exactly. Byte strings are views of `bytes`. Work and
 * memory grow only with the length of the input and the limit, whatever lengths it claims.
 *
 * @throws CborError if the bytes are not the encoding of a value of the profile, or of more items than
 *   allowed
 */
export function decodeCborT(
  bytes: Uint8Array,
  { itemsMax = ITEMS_MAX }: CborLimits = {},
): CborItem {
  return decode(bytes, CBOR_T, itemsMax);
}

function decode(bytes: Uint8Array, profile: Profile, itemsMax: number): CborItem {
  const reader = createReader(bytes, itemsMax);
  const item = readItem(reader, profile, 1);
  if (reader.offset() !== bytes.length) throw new CborError("bytes follow the value");
  return item;
}

interface Head {
  readonly major: number;
  readonly argument: number;
}

interface Reader {
  /** The next major type and its argument. */
  head(): Head;
  /** The next bytes, as a view. */
  take(length: number): Uint8Array;
  offset(): number;
  /** The bytes read since an offset, as a view. */
  since(offset: number): Uint8Array;
  /** Counts an item that is to be kept in memory. */
  countItem(): void;
}

function createReader(bytes: Uint8Array, itemsMax: number): Reader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let offset = 0;
  let items = 0;

  const skip = (length: number): number => {
    if (length > bytes.length - offset) throw new CborError("the input is truncated");
    offset += length;
    return offset - length;
  };
  const argument = (info: number): number => {
    if (info < 24) return info;
    if (info > 27) throw new CborError("a length is indefinite or reserved");
    const width = 2 ** (info - 24);
    const at = skip(width);
    if (width === 8) {
      const value = view.getBigUint64(at);
      if (value < 2n ** 32n || value > BigInt(Number.MAX_SAFE_INTEGER)) throw notShortest();
      return Number(value);
    }
    const value =
      width === 1 ? view.getUint8(at) : width === 2 ? view.getUint16(at) : view.getUint32(at);
    // The smallest value of each width; smaller ones have a shorter form.
    if (value < [24, 2 ** 8, 2 ** 16][info - 24]!) throw notShortest();
    return value;
  };

  return {
    head() {
      const first = bytes[skip(1)]!;
      const major = first >> 5;
      const info = first & 31;
      // Checked here, because a simple value with an argument is not null, nor a number a float.
      if (major === SIMPLE && info !== NULL) throw notInProfile();
      return { major, argument: argument(info) };
    },
    take(length) {
      const start = skip(length);
      return bytes.subarray(start, start + length);
    },
    offset: () => offset,
    since: (start) => bytes.subarray(start, offset),
    countItem() {
      items += 1;
      if (items > itemsMax) throw new CborError(`there are more than ${itemsMax} items`);
    },
  };
}

function readItem(reader: Reader, profile: Profile, depth: number): CborItem {
  reader.countItem();
  const start = reader.offset();
  const next = reader.head();
  switch (next.major) {
    case UNSIGNED:
      return next.argument;
    case BYTES:
      return reader.take(next.argument);
    case TEXT:
      return readText(reader, next);
    case MAP:
      return readMap(reader, profile, start, next.argument, depth);
    default:
      if (!profile.wide) throw notInProfile();
  }
  switch (next.major) {
    case NEGATIVE:
      // −1 − argument, at least −2^53+1.
      if (next.argument === Number.MAX_SAFE_INTEGER) throw notShortest();
      return -1 - next.argument;
    case ARRAY: {
      if (depth > profile.depthMax) throw tooDeep();
      const items: CborItem[] = [];
      for (let i = 0; i < next.argument; i++) items.push(readItem(reader, profile, depth + 1));
      return items;
    }
    case SIMPLE:
      return null;
    default:
      throw notInProfile();
  }
}

function readMap(
  reader: Reader,
  profile: Profile,
  start: number,
  count: number,
  depth: number,
): Map<string, CborItem> {
  if (depth > profile.depthMax) throw tooDeep();
  const map = new Map<string, CborItem>();
  let previous: Uint8Array | undefined;
  for (let i = 0; i < count; i++) {
    const keyStart = reader.offset();
    const key = readText(reader, reader.head());
    const encodedKey = reader.since(keyStart);
    if (previous !== undefined && compare(previous, encodedKey) >= 0) {
      throw new CborError("keys are out of order or not unique");
    }
    previous = encodedKey;
    map.set(key, readItem(reader, profile, depth + 1));
    // Checked here, so that a map of very many entries is not built first.
    if (depth > 1 && reader.offset() - start > profile.innerMapMax) {
      throw new CborError("an inner map is too long");
    }
  }
  return map;
}

/** Rejects ill-formed UTF-8, and keeps a byte order mark as an ordinary character. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function readText(reader: Reader, { major, argument }: Head): string {
  if (major !== TEXT) throw new CborError("a key is not text");
  const bytes = reader.take(argument);
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new CborError("a text is not well-formed UTF-8", { cause });
  }
}

function notInProfile(): CborError {
  return new CborError("a type is not in the profile");
}

function tooDeep(): CborError {
  return new CborError("maps or arrays are nested too deep");
}

function notShortest(): CborError {
  return new CborError("an integer is too large or not in its shortest form");
}
