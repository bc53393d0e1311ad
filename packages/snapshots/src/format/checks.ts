import { StorageError, type ErrorCode } from "@idk/storage";
import { CborError, type CborItem, decodeCborT } from "@idk/storage/blobs";

/**
 * What decoders throw at the first thing that is wrong. `decoding` makes a `StorageError` of it, because
 * only the outermost decoder knows its code.
 */
class Malformed extends Error {
  override readonly name = "Malformed";
}

/** Refuses what is being decoded. */
export function malformed(message: string): Error {
  return new Malformed(message);
}

/**
 * Runs a decoder.
 *
 * @param what begins the message, such as "the snapshot"
 * @throws StorageError of this code if what is decoded is malformed
 */
export function decoding<T>(code: ErrorCode, what: string, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    // Decoders of frames and blocks say `encoding`.
    const isEncoding = error instanceof StorageError && error.code === "encoding";
    if (isEncoding || error instanceof Malformed || error instanceof CborError) {
      throw new StorageError(code, `${what} is malformed: ${error.message}`);
    }
    throw error;
  }
}

/** Decodes one item of CBOR-T that is at most `max` bytes long. */
export function decodedItem(bytes: Uint8Array, max: number): CborItem {
  if (bytes.length > max)
    throw malformed(`it has ${bytes.length} bytes, at most ${max} are allowed`);
  return decodeCborT(bytes);
}

export function uint(
  item: CborItem | undefined,
  what: string,
  max: number = Number.MAX_SAFE_INTEGER,
): number {
  if (typeof item !== "number" || item < 0) throw malformed(`${what} is not an unsigned integer`);
  if (item > max) throw malformed(`${what} is ${item}, at most ${max} is allowed`);
  return item;
}

/** An integer from −(2^53−1) to 2^53−1. */
export function integer(item: CborItem | undefined, what: string): number {
  if (typeof item !== "number") throw malformed(`${what} is not an integer`);
  return item;
}

export function byteString(item: CborItem | undefined, what: string, length?: number): Uint8Array {
  if (!(item instanceof Uint8Array)) throw malformed(`${what} is not a byte string`);
  if (length !== undefined && item.length !== length) {
    throw malformed(`${what} has ${item.length} bytes instead of ${length}`);
  }
  return item;
}

export function text(item: CborItem | undefined, what: string): string {
  if (typeof item !== "string") throw malformed(`${what} is not text`);
  return item;
}

export function array(
  item: CborItem | undefined,
  what: string,
  max: number = Infinity,
): readonly CborItem[] {
  if (!Array.isArray(item)) throw malformed(`${what} is not an array`);
  const items: readonly CborItem[] = item;
  if (items.length > max)
    throw malformed(`${what} has ${items.length} items, at most ${max} are allowed`);
  return items;
}

/** An array of exactly this many items. */
export function tuple(
  item: CborItem | undefined,
  what: string,
  length: number,
): readonly CborItem[] {
  const items = array(item, what);
  if (items.length !== length)
    throw malformed(`${what} has ${items.length} items instead of ${length}`);
  return items;
}

export function map(item: CborItem | undefined, what: string): ReadonlyMap<string, CborItem> {
  if (!(item instanceof Map)) throw malformed(`${what} is not a map`);
  return item as ReadonlyMap<string, CborItem>;
}

/** A map with exactly these keys. */
export function record<Key extends string>(
  item: CborItem | undefined,
  what: string,
  keys: readonly Key[],
): Readonly<Record<Key, CborItem>> {
  const fields = map(item, what);
  const values = Object.create(null) as Record<Key, CborItem>;
  for (const key of keys) {
    const value = fields.get(key);
    if (value === undefined) throw malformed(`${what} has no key "${key}"`);
    values[key] = value;
  }
  if (fields.size !== keys.length) throw malformed(`${what} has a key that is not allowed`);
  return values;
}

/** The value of key `v`, which is 1. */
export function versionOne(item: CborItem): void {
  if (item !== 1) throw malformed("it is of an unknown version");
}
