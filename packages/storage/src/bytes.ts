import { usage } from "./errors.ts";

/** Joins byte strings into a new one. */
export function concat(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return concatAll(parts);
}

/** The same for a list, which may be longer than a call may have arguments. */
export function concatAll(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(totalLength(parts));
  writeAll(joined, parts);
  return joined;
}

/** The length of byte strings together. */
export function totalLength(parts: readonly Uint8Array[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

/** Lays byte strings one behind the other into memory that has room for them. */
export function writeAll(into: Uint8Array, parts: readonly Uint8Array[]): void {
  let offset = 0;
  for (const part of parts) {
    into.set(part, offset);
    offset += part.length;
  }
}

/**
 * Compares public bytes. It stops at the first difference, so it is not for secrets: where a
 * secret decides, the MAC of the NaCl library compares.
 */
export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && compare(a, b) === 0;
}

/** Bytewise lexicographic order: negative, zero or positive. */
export function compare(a: Uint8Array, b: Uint8Array): number {
  // The runtime's own comparison is some fifty times faster on a megabyte.
  if (typeof Buffer !== "undefined") return Buffer.compare(a, b);
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Whether all bytes are zero. Looks at every byte, whatever it finds. */
export function allZero(bytes: Uint8Array): boolean {
  let seen = 0;
  for (const byte of bytes) seen |= byte;
  return seen === 0;
}

/**
 * The same for public bytes, of which there may be many: each is compared with its neighbour, by what
 * compares byte strings in the runtime. Padding can be an eighth of a content.
 */
export function onlyZeros(bytes: Uint8Array): boolean {
  if (bytes.length === 0) return true;
  return bytes[0] === 0 && compare(bytes.subarray(1), bytes.subarray(0, -1)) === 0;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Lowercase hexadecimal digits. */
export function toHex(bytes: Uint8Array): string {
  // Of a hash, in a quarter of the time.
  if (typeof Buffer !== "undefined") {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
  }
  let text = "";
  for (const byte of bytes) text += HEX[byte]!;
  return text;
}

/** The bytes of lowercase hexadecimal digits. The caller has checked the form. */
export function fromHex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length / 2);
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
  }
  return bytes;
}

const encoder = new TextEncoder();

/** UTF-8 bytes of a text. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Checks that a caller's argument is a byte string of exactly this length. Never prints the bytes. */
export function assertLength(
  name: string,
  value: unknown,
  length: number,
): asserts value is Uint8Array {
  if (!(value instanceof Uint8Array)) {
    throw usage(`${name} must be a Uint8Array of ${length} bytes, got ${typeName(value)}`);
  }
  if (value.length !== length) {
    throw usage(`${name} must be ${length} bytes long, got ${value.length}`);
  }
}

/** What to call a value of the wrong type in a message, without showing the value itself. */
export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  const prototype: unknown = Object.getPrototypeOf(value);
  const name =
    typeof prototype === "object" && prototype !== null ? prototype.constructor?.name : undefined;
  return name === undefined || name === "" ? "object" : name;
}
