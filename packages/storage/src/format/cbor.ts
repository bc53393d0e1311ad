import { Encoder } from "cbor-x/encode";
import { compare, equal, utf8 } from "../bytes.ts";

/**
 * The CBOR profile of headers and roots (RFC 8949, deterministic encoding): definite lengths,
 * shortest forms, unsigned integers to 2^53−1, byte strings, text, and maps with unique text
 * keys in bytewise order of their encodings, two levels deep.
 *
 * cbor-x does the coding; this file makes it strict. A reader accepts an item only if encoding
 * what it decoded gives the same bytes, which catches every non-shortest, indefinite, duplicate,
 * ill-formed UTF-8 or exotic encoding at once. Order and types are checked besides, because a
 * map decoded in the wrong order is encoded in the same wrong order.
 */
export type CborValue = number | string | Uint8Array | CborMap;
export type CborMap = Map<string, CborValue>;

/** Maps inside maps: the metadata of a root is the only one. */
const DEPTH_MAX = 2;

const coder = new Encoder({
  useRecords: false,
  mapsAsObjects: false,
  tagUint8Array: false,
  variableMapSize: true,
});

/** Encodes entries in canonical order. The result is the caller's own. */
export function encodeCbor(map: CborMap): Uint8Array {
  // cbor-x hands out a view of a buffer it goes on writing to.
  return new Uint8Array(coder.encode(prepare(map)));
}

/**
 * Decodes one map that fills `bytes` exactly; byte strings are views of `bytes`.
 *
 * @throws {CborError} where the bytes are not the canonical encoding of a map of the profile
 */
export function decodeCbor(bytes: Uint8Array): CborMap {
  let decoded: unknown;
  try {
    decoded = coder.decode(bytes);
  } catch (cause) {
    // Truncated, trailing bytes, lengths past the end, nesting past the stack.
    throw new CborError("not one well-formed CBOR item", { cause });
  }
  const map = checkMap(decoded, 1);
  if (!equal(coder.encode(prepare(map)), bytes)) throw new CborError("not canonical CBOR");
  return map;
}

/** Malformed CBOR; the caller knows whether that is a `format` or a `root` fault. */
export class CborError extends Error {
  override readonly name = "CborError";
}

/** An encoded text key: its order is that of these bytes, so shorter keys come first. */
function encodedKey(key: string): Uint8Array {
  const text = utf8(key);
  const head =
    text.length < 24
      ? [0x60 + text.length]
      : text.length < 256
        ? [0x78, text.length]
        : [0x79, text.length >> 8, text.length & 255];
  const encoded = new Uint8Array(head.length + text.length);
  encoded.set(head);
  encoded.set(text, head.length);
  return encoded;
}

/** Sorts the keys, and gives cbor-x its integers in the type it encodes shortest. */
function prepare(map: CborMap): Map<string, unknown> {
  const entries = Array.from(map, ([key, value]) => ({ key, value, order: encodedKey(key) }));
  entries.sort((a, b) => compare(a.order, b.order));
  return new Map(
    entries.map(({ key, value }) => [
      key,
      value instanceof Map
        ? prepare(value)
        : typeof value === "number" && value > 0xffff_ffff
          ? BigInt(value) // as a number it would become a float
          : value,
    ]),
  );
}

function checkMap(value: unknown, depth: number): CborMap {
  if (!(value instanceof Map) || depth > DEPTH_MAX) {
    throw new CborError("not a map of the profile");
  }
  const map: CborMap = new Map();
  let previous: Uint8Array | undefined;
  for (const [key, item] of value as Map<unknown, unknown>) {
    if (typeof key !== "string") throw new CborError("a key is not text");
    const order = encodedKey(key);
    if (previous !== undefined && compare(previous, order) >= 0) {
      throw new CborError("keys are not in order");
    }
    previous = order;
    map.set(key, checkValue(item, depth));
  }
  return map;
}

function checkValue(value: unknown, depth: number): CborValue {
  if (typeof value === "string") return value;
  // Typed-array tags decode to other classes, which re-encode without their tag; be exact anyway.
  if (value instanceof Uint8Array) return value;
  if (value instanceof Map) return checkMap(value, depth + 1);
  const number = typeof value === "bigint" ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number >= 0) return number;
  throw new CborError("a value's type is not in the profile");
}
