import { METADATA_MAX } from "./limits.ts";
import { compare, concat, concatAll, utf8 } from "../bytes.ts";

/**
 * The CBOR profile of headers and roots (RFC 8949, section 4.2.1): definite lengths, shortest
 * forms, unsigned integers to 2^53−1, byte strings, well-formed text, and maps with unique text
 * keys in bytewise order of their encodings, two levels deep. Every map has exactly one encoding,
 * and the decoder accepts no other.
 *
 * Our own, because the input comes from anyone who can write to the store: a general decoder does
 * work for tags and shared values before the caller can reject them (docs/decisions/0001).
 */
export type CborValue = number | string | Uint8Array | CborMap;
export type CborMap = Map<string, CborValue>;

/** Malformed CBOR; the caller turns it into a `format` or a `root` error. */
export class CborError extends Error {
  override readonly name = "CborError";
}

const UNSIGNED = 0;
const BYTES = 2;
const TEXT = 3;
const MAP = 5;

/** Nesting of maps: the metadata of a root is the only inner map. */
const DEPTH_MAX = 2;

/** Encodes a map; the order of its entries does not matter. */
export function encodeCbor(map: CborMap): Uint8Array<ArrayBuffer> {
  return concatAll(encodeCborParts(map));
}

/** Encodes a map as pieces to be concatenated, without copying its byte strings. */
export function encodeCborParts(map: CborMap): Uint8Array[] {
  const parts: Uint8Array[] = [];
  appendMap(parts, map);
  return parts;
}

function appendMap(parts: Uint8Array[], map: CborMap): void {
  const entries = Array.from(map, ([key, value]) => ({ key: encodedText(key), value }));
  entries.sort((a, b) => compare(a.key, b.key));
  parts.push(head(MAP, entries.length));
  for (const { key, value } of entries) {
    parts.push(key);
    if (typeof value === "number") parts.push(head(UNSIGNED, value));
    else if (typeof value === "string") parts.push(encodedText(value));
    else if (value instanceof Map) appendMap(parts, value);
    else parts.push(head(BYTES, value.length), value);
  }
}

function encodedText(text: string): Uint8Array {
  const bytes = utf8(text);
  return concat(head(TEXT, bytes.length), bytes);
}

/** A major type with its argument in the shortest form. */
function head(major: number, argument: number): Uint8Array {
  const type = major << 5;
  if (argument < 24) return Uint8Array.of(type | argument);
  if (argument < 2 ** 8) return Uint8Array.of(type | 24, argument);
  const width = argument < 2 ** 16 ? 2 : argument < 2 ** 32 ? 4 : 8;
  const bytes = new Uint8Array(1 + width);
  const view = new DataView(bytes.buffer);
  if (width === 2) view.setUint16(1, argument);
  else if (width === 4) view.setUint32(1, argument);
  else view.setBigUint64(1, BigInt(argument));
  bytes[0] = type | (width === 2 ? 25 : width === 4 ? 26 : 27);
  return bytes;
}

/**
 * Decodes one map that fills `bytes` exactly. Byte strings are views of `bytes`. Work and memory
 * grow only with the length of the input, whatever lengths it claims.
 *
 * @throws CborError if the bytes are not the encoding of a map of the profile
 */
export function decodeCbor(bytes: Uint8Array): CborMap {
  const reader = createReader(bytes);
  const map = readMap(reader, 0, reader.head(), 1);
  if (reader.offset() !== bytes.length) throw new CborError("bytes follow the map");
  return map;
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
}

function createReader(bytes: Uint8Array): Reader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let offset = 0;

  const take = (length: number): Uint8Array => {
    if (length > bytes.length - offset) throw new CborError("the input is truncated");
    offset += length;
    return bytes.subarray(offset - length, offset);
  };
  const argument = (info: number): number => {
    if (info < 24) return info;
    if (info > 27) throw new CborError("a length is indefinite or reserved");
    const at = offset;
    const width = 2 ** (info - 24);
    take(width);
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
      const first = take(1)[0]!;
      return { major: first >> 5, argument: argument(first & 31) };
    },
    take,
    offset: () => offset,
    since: (start) => bytes.subarray(start, offset),
  };
}

function readMap(
  reader: Reader,
  start: number,
  { major, argument: count }: Head,
  depth: number,
): CborMap {
  if (major !== MAP || depth > DEPTH_MAX) throw new CborError("this is not a map of the profile");
  const map: CborMap = new Map();
  let previous: Uint8Array | undefined;
  for (let i = 0; i < count; i++) {
    const keyStart = reader.offset();
    const key = readText(reader, reader.head());
    const encodedKey = reader.since(keyStart);
    if (previous !== undefined && compare(previous, encodedKey) >= 0) {
      throw new CborError("keys are out of order or not unique");
    }
    previous = encodedKey;
    map.set(key, readValue(reader, depth));
    // Checked here, so that a map of very many entries is not built first.
    if (depth > 1 && reader.offset() - start > METADATA_MAX) {
      throw new CborError("an inner map is too long");
    }
  }
  return map;
}

function readValue(reader: Reader, depth: number): CborValue {
  const start = reader.offset();
  const next = reader.head();
  if (next.major === UNSIGNED) return next.argument;
  if (next.major === BYTES) return reader.take(next.argument);
  if (next.major === TEXT) return readText(reader, next);
  return readMap(reader, start, next, depth + 1);
}

/** Rejects ill-formed UTF-8, and keeps a byte order mark as an ordinary character. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function readText(reader: Reader, { major, argument }: Head): string {
  if (major !== TEXT) throw new CborError("a key is not text, or a type is not in the profile");
  const bytes = reader.take(argument);
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new CborError("a text is not well-formed UTF-8", { cause });
  }
}

function notShortest(): CborError {
  return new CborError("an integer is too large or not in its shortest form");
}
