import { S3Error } from "../errors.ts";

const UNRESERVED = /[A-Za-z0-9\-._~]/u;

const encoded = (kept: RegExp): readonly string[] =>
  Array.from({ length: 256 }, (_, byte) => {
    const character = String.fromCharCode(byte);
    if (kept.test(character)) return character;
    return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  });

const NAME = encoded(UNRESERVED);
const PATH = encoded(/[A-Za-z0-9\-._~/]/u);

/** Percent-encodes all but RFC 3986's unreserved characters, as V4 signs names and values. */
export function encodeName(bytes: Uint8Array): string {
  return encodeBytes(bytes, NAME);
}

/** The same, but for slashes. */
export function encodePath(bytes: Uint8Array): string {
  return encodeBytes(bytes, PATH);
}

function encodeBytes(bytes: Uint8Array, table: readonly string[]): string {
  let text = "";
  for (const byte of bytes) text += table[byte]!;
  return text;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** ASCII of which nothing is encoded: most of what clients send. */
const PLAIN = /^[^%\u0080-\uFFFF]*$/u;

/**
 * Decodes what is percent-encoded in a part of a target.
 *
 * @param text Latin-1: a character for each byte
 * @returns UTF-8
 * @throws S3Error `InvalidURI` if it is not percent-encoded UTF-8
 */
export function decodePercent(text: string): Uint8Array {
  if (PLAIN.test(text)) return encoder.encode(text);
  const bytes = new Uint8Array(text.length);
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    let byte = text.charCodeAt(i);
    if (byte === 0x25) {
      const digits = text.slice(i + 1, i + 3);
      if (!/^[0-9A-Fa-f]{2}$/u.test(digits)) throw invalidUri();
      byte = Number.parseInt(digits, 16);
      i += 2;
    }
    if (byte > 0xff) throw invalidUri();
    bytes[length++] = byte;
  }
  const decoded = bytes.subarray(0, length);
  utf8Text(decoded);
  return decoded;
}

/** @throws S3Error `InvalidURI` if it is not UTF-8 */
export function utf8Text(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw invalidUri();
  }
}

export function invalidUri(): S3Error {
  return new S3Error("InvalidURI");
}
