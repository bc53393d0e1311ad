import { usage } from "./errors.ts";

/** Concatenates byte strings. */
export function concat(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return concatAll(parts);
}

/** Concatenates a list, which may be longer than the limit on arguments of a call. */
export function concatAll(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(totalLength(parts));
  writeAll(joined, parts);
  return joined;
}

export function totalLength(parts: readonly Uint8Array[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

/** Writes byte strings one after another into memory that has room for them. */
export function writeAll(into: Uint8Array, parts: readonly Uint8Array[]): void {
  let offset = 0;
  for (const part of parts) {
    into.set(part, offset);
    offset += part.length;
  }
}

/** Not constant-time: use it only if an attacker cannot measure the time. */
export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && compare(a, b) === 0;
}

/** Bytewise lexicographic order: negative, zero or positive. */
export function compare(a: Uint8Array, b: Uint8Array): number {
  // The runtime's own comparison is about fifty times faster for a megabyte.
  if (typeof Buffer !== "undefined") return Buffer.compare(a, b);
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Whether all bytes are zero, in time that does not depend on their values. */
export function allZero(bytes: Uint8Array): boolean {
  let seen = 0;
  for (const byte of bytes) seen |= byte;
  return seen === 0;
}

/**
 * Whether all bytes are zero; fast, and for public bytes only. Compares each byte with the next by
 * the runtime's own comparison, because padding can be an eighth of the content.
 */
export function onlyZeros(bytes: Uint8Array): boolean {
  if (bytes.length === 0) return true;
  return bytes[0] === 0 && compare(bytes.subarray(1), bytes.subarray(0, -1)) === 0;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Lowercase hexadecimal digits. */
export function toHex(bytes: Uint8Array): string {
  // Takes a quarter of the time for a hash.
  if (typeof Buffer !== "undefined") {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
  }
  let text = "";
  for (const byte of bytes) text += HEX[byte]!;
  return text;
}

/** Decodes hexadecimal digits. The caller must have validated them. */
export function fromHex(text: string): Uint8Array {
  // A copy, because a short Buffer is a part of a larger one.
  if (typeof Buffer !== "undefined") return new Uint8Array(Buffer.from(text, "hex"));
  const bytes = new Uint8Array(text.length / 2);
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
  }
  return bytes;
}

const encoder = new TextEncoder();

/** Encodes text as UTF-8. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Checks that an argument is a byte string of exactly this length. Never prints the bytes. */
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

/** Names the type of a value for an error message, without revealing the value. */
export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  const prototype: unknown = Object.getPrototypeOf(value);
  const name =
    typeof prototype === "object" && prototype !== null ? prototype.constructor?.name : undefined;
  return name === undefined || name === "" ? "object" : name;
}
