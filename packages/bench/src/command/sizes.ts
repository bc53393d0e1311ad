import { Usage } from "./usage.ts";

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
};

const SIZE = /^(\d+(?:\.\d+)?)\s*([kmg]?i?b|[kmg])?$/iu;

/** Above this a number of bytes is a slip of the finger. */
const MOST = 2 ** 40;

/**
 * Reads `64K,1MiB,10MB` into bytes, in the order given. K, M and G, with or without "iB", are powers
 * of 1024, as in the rest of the command; KB, MB and GB are powers of 1000, as in the rates of reports.
 *
 * @throws Usage
 */
export function parseSizes(text: string, flag: string): number[] {
  const sizes = text.split(",").map((item) => parseSize(item.trim(), flag));
  if (new Set(sizes).size < sizes.length) throw new Usage(`${flag} names a size twice`);
  return sizes;
}

/** Reads `8` or `1,8`: each a number of megabytes of 1,000,000 bytes. */
export function parseMegabytes(text: string, flag: string): number[] {
  if (!/^[\d.,\s]+$/u.test(text)) throw new Usage(`${flag} takes numbers, such as 8 or 1,8`);
  return parseSizes(text.replaceAll(/([\d.]+)/gu, "$1MB"), flag);
}

function parseSize(text: string, flag: string): number {
  const [, number, unit = ""] = SIZE.exec(text) ?? [];
  const bytes = Math.round(Number(number) * (UNITS[unit.toLowerCase()] ?? Number.NaN));
  if (bytes >= 1 && bytes <= MOST) return bytes;
  throw new Usage(`${flag} takes sizes from 1 byte to 1 TiB, such as 64K, 1MiB or 10MB`);
}
