/*
 * Strings and numbers of JSON (RFC 8259), as bytes.
 */

/** What a byte is in a string. */
export const PLAIN = 0;
export const DIGIT = 1;
/** A character without which a string of fewer than 13 digits has no secret: `=`, `@`, `%` and `'`. */
export const MARK = 2;
export const QUOTE = 3;
export const BACKSLASH = 4;
export const CONTROL = 5;

const MARKS = new Set(Buffer.from("=@%'"));

export const CLASSES: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte < 0x20) return CONTROL;
  if (byte >= 0x30 && byte <= 0x39) return DIGIT;
  if (byte === 0x22) return QUOTE;
  if (byte === 0x5c) return BACKSLASH;
  return MARKS.has(byte) ? MARK : PLAIN;
});

/** The escape sequence goes on beyond the end. */
export const INCOMPLETE = 0;
export const INVALID = -1;

const SIMPLE_ESCAPES = new Set(Buffer.from('"\\/bfnrt'));

/** The length of the escape sequence at an offset, or `INCOMPLETE` or `INVALID`. */
export function escapeLength(bytes: Uint8Array, at: number): number {
  if (at + 1 >= bytes.length) return INCOMPLETE;
  const letter = bytes[at + 1]!;
  if (letter !== 0x75) return SIMPLE_ESCAPES.has(letter) ? 2 : INVALID;
  for (let digit = at + 2; digit < at + 6; digit++) {
    if (digit >= bytes.length) return INCOMPLETE;
    if (!isHexDigit(bytes[digit]!)) return INVALID;
  }
  return 6;
}

const NUMBER_BYTES: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  isDigit(byte) || "-+.eE".includes(String.fromCharCode(byte)) ? 1 : 0,
);

/** Whether a byte can be in a number. */
export function isInNumber(byte: number): boolean {
  return NUMBER_BYTES[byte] === 1;
}

/** Whether bytes are a number as JSON writes them. */
export function isNumber(bytes: Uint8Array, start: number, end: number): boolean {
  const integer = bytes[start] === 0x2d ? start + 1 : start;
  let at = digitsEnd(bytes, integer, end);
  if (at === integer || (bytes[integer] === 0x30 && at > integer + 1)) return false;
  if (at < end && bytes[at] === 0x2e) {
    const fraction = at + 1;
    at = digitsEnd(bytes, fraction, end);
    if (at === fraction) return false;
  }
  if (at < end && (bytes[at]! | 32) === 0x65) {
    at += 1;
    if (bytes[at] === 0x2b || bytes[at] === 0x2d) at += 1;
    const exponent = at;
    at = digitsEnd(bytes, exponent, end);
    if (at === exponent) return false;
  }
  return at === end;
}

/** Not a closure of its caller: one for each number takes longer than the numbers. */
function digitsEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && isDigit(bytes[at]!)) at += 1;
  return at;
}

/** The end of the last whole character of UTF-8, of which the last bytes may be missing. */
export function wholeCharacters(bytes: Uint8Array, start: number, end: number): number {
  for (let back = 1; back <= 3 && end - back >= start; back++) {
    const byte = bytes[end - back]!;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return back < length ? end - back : end;
  }
  return end;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isHexDigit(byte: number): boolean {
  return isDigit(byte) || ((byte | 32) >= 0x61 && (byte | 32) <= 0x66);
}
