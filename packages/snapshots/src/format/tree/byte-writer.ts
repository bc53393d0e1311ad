import { StorageError } from "@idk/storage";

/** Major types of CBOR. */
export const UINT = 0;
export const BYTES = 2;
export const ARRAY = 4;
const NEGATIVE = 1;
const NULL = 0xf6;

/**
 * Collects bytes and items of CBOR-T in one buffer that grows. Entries are written a million at a time,
 * for which values of `encodeCborT` would be too many objects.
 */
export class ByteWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;

  constructor(capacity: number = 4096) {
    this.#bytes = new Uint8Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /** What was written since an offset, valid until the next call. */
  view(from: number = 0): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(from, this.#length);
  }

  /** Forgets what was written. */
  clear(): void {
    this.#length = 0;
  }

  /** Adds bytes as they are. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    // A call takes longer than a few bytes.
    if (bytes.length > 64) {
      this.#bytes.set(bytes, this.#length);
    } else {
      for (let at = 0; at < bytes.length; at += 1) this.#bytes[this.#length + at] = bytes[at]!;
    }
    this.#length += bytes.length;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length] = value;
    this.#length += 1;
  }

  null(): void {
    this.byte(NULL);
  }

  byteString(bytes: Uint8Array): void {
    this.head(BYTES, bytes.length);
    this.raw(bytes);
  }

  /**
   * An integer of at most 53 bits.
   *
   * @throws StorageError `usage` if it is none
   */
  integer(value: number): void {
    if (!Number.isSafeInteger(value)) {
      throw new StorageError("usage", `${value} is no integer that CBOR-T has`);
    }
    if (value < 0) this.head(NEGATIVE, -1 - value);
    else this.head(UINT, value);
  }

  /** The head of an item, in the shortest form. */
  head(major: number, value: number): void {
    this.#reserve(9);
    const bytes = this.#bytes;
    const top = major << 5;
    let at = this.#length;
    if (value < 24) {
      bytes[at++] = top | value;
    } else if (value < 2 ** 8) {
      bytes[at++] = top | 24;
      bytes[at++] = value;
    } else if (value < 2 ** 16) {
      bytes[at++] = top | 25;
      bytes[at++] = value >>> 8;
      bytes[at++] = value;
    } else {
      const isLong = value >= 2 ** 32;
      bytes[at++] = top | (isLong ? 27 : 26);
      if (isLong) {
        const high = Math.floor(value / 2 ** 32);
        for (let shift = 24; shift >= 0; shift -= 8) bytes[at++] = high >>> shift;
      }
      const low = value % 2 ** 32;
      for (let shift = 24; shift >= 0; shift -= 8) bytes[at++] = low >>> shift;
    }
    this.#length = at;
  }

  #reserve(length: number): void {
    const least = this.#length + length;
    if (least <= this.#bytes.length) return;
    const next = new Uint8Array(Math.max(least, 2 * this.#bytes.length));
    next.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = next;
  }
}

/** The bytes that the head of an item with this value takes. */
export function headLength(value: number): number {
  if (value < 24) return 1;
  if (value < 2 ** 8) return 2;
  if (value < 2 ** 16) return 3;
  return value < 2 ** 32 ? 5 : 9;
}
