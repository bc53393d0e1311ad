import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

/** Choices that follow from one seed. */
export interface Draw {
  /** An integer from 0 to max, both included. */
  upTo(max: number): number;
  /** True once in `n` times. */
  oneIn(n: number): boolean;
  pick<T>(items: readonly T[]): T;
  bytes(length: number): Uint8Array<ArrayBuffer>;
  shuffled<T>(items: readonly T[]): T[];
}

/** @param seed a 32-bit integer */
export function drawFrom(seed: number): Draw {
  const generator = xoroshiro128plus(seed);
  const upTo = (max: number) => uniformInt(generator, 0, max);
  return {
    upTo,
    oneIn: (n) => upTo(n - 1) === 0,
    pick: (items) => items[upTo(items.length - 1)]!,
    bytes: (length) => Uint8Array.from({ length }, () => upTo(255)),
    shuffled(items) {
      const left = [...items];
      return items.map(() => left.splice(upTo(left.length - 1), 1)[0]!);
    },
  };
}

/** Numbers at the borders of types and of the format's limits. */
export const BORDERS: readonly number[] = [
  0,
  1,
  3,
  17,
  18,
  23,
  24,
  255,
  256,
  4096,
  65_535,
  65_536,
  2 ** 18,
  2 ** 20,
  2 ** 20 + 1,
  2 ** 24,
  2 ** 31 - 1,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 40,
  Number.MAX_SAFE_INTEGER - 1,
  Number.MAX_SAFE_INTEGER,
];

/** Changes bytes in one place: a bit, a byte, a number, a cut, a repetition, an insertion. */
export function mutatedBytes(draw: Draw, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(bytes);
  if (copy.length === 0) return draw.bytes(1 + draw.upTo(8));
  // What matters is mostly near one of the ends.
  const near = Math.min(copy.length - 1, draw.pick([8, 64, 256, copy.length - 1]));
  const at = draw.oneIn(4) ? copy.length - 1 - draw.upTo(near) : draw.upTo(near);
  const length = 1 + draw.upTo(Math.min(63, copy.length - at - 1));
  switch (draw.upTo(7)) {
    case 0:
      copy[at]! ^= 1 << draw.upTo(7);
      return copy;
    case 1:
      copy[at] = draw.pick([0, 1, 0x17, 0x18, 0x1b, 0x40, 0x5f, 0x7f, 0x80, 0xa0, 0xbf, 0xff]);
      return copy;
    case 2:
      copy.set(draw.bytes(length), at);
      return copy;
    case 3:
      return copy.slice(0, at);
    case 4:
      return joined(copy.subarray(0, at), copy.subarray(at + length));
    case 5:
      return joined(copy.subarray(0, at + length), copy.subarray(at));
    case 6:
      return joined(copy.subarray(0, at), draw.bytes(length), copy.subarray(at));
    default:
      return joined(copy, new Uint8Array(length));
  }
}

/** Changes text in one place, with the words and characters that mean something where it is read. */
export function mutatedText(draw: Draw, text: string, words: readonly string[]): string {
  const at = draw.upTo(text.length);
  const length = draw.upTo(Math.min(40, text.length - at));
  const [before, cut, after] = [
    text.slice(0, at),
    text.slice(at, at + length),
    text.slice(at + length),
  ];
  switch (draw.upTo(6)) {
    case 0:
      return before + draw.pick(words) + cut + after;
    case 1:
      return before + draw.pick(words) + after;
    case 2:
      return before + after;
    case 3:
      return before + cut.repeat(2 + draw.upTo(3)) + after;
    case 4:
      return before + draw.pick(HOSTILE) + cut + after;
    case 5:
      return before + draw.pick(words).repeat(1 + draw.upTo(200)) + cut + after;
    default:
      return text.slice(0, at);
  }
}

/** Characters and names that some program takes for more than text. */
export const HOSTILE: readonly string[] = [
  "\0",
  "\u0007",
  "\u001b[2J",
  "\u001b]0;title\u0007",
  "\u009b31m",
  "\r",
  "\n",
  "\t",
  "\u007f",
  "\u2028",
  "\u202e",
  "\u2066",
  "\u200b",
  "\ufeff",
  "\ud800",
  "\udc00",
  "\u{1f4a9}",
  "e\u0301",
  "../",
  "..\\",
  "/",
  "\\",
  ":",
  "CON",
  "nul.txt",
  ".",
  "..",
  "~",
  " ",
  "-",
  "%00",
  "%2e%2e%2f",
  "__proto__",
  "constructor",
  "toString",
];

export function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}
