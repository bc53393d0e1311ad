import type { Exchange } from "../record/exchange.ts";
import type { SegmentMetadata } from "../segments/metadata.ts";
import { parseExchange } from "./parse-exchange.ts";

const LINE_FEED = 0x0a;

/**
 * The most values of JSON in a line; it has three for each header. As values they may take 30 times
 * as much memory as in the line.
 */
const VALUES_MAX = 2 ** 18;

/** How many values may be inside of each other. An exchange has five levels; thousands exhaust the stack. */
const DEPTH_MAX = 64;

/**
 * Parses the lines of a segment one by one, because exchanges may take much more memory than their
 * lines. Undefined are lines that are not exchanges, have more than 262,144 values or more than 64 levels of
 * them, or are more lines than the segment announces; and exchanges outside of the times that it announces,
 * because readers rely on them.
 */
export function* eachLine(
  bytes: Uint8Array,
  { count, from, to }: SegmentMetadata,
): Generator<Exchange | undefined> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let start = 0, index = 0; start < buffer.length; index++) {
    const feed = buffer.indexOf(LINE_FEED, start);
    const end = feed === -1 ? buffer.length : feed;
    const line = buffer.subarray(start, end);
    const isExpected = index < count && !isExcessive(line);
    const exchange = isExpected ? parseExchange(line.toString()) : undefined;
    const time = exchange === undefined ? Number.NaN : Date.parse(exchange.time);
    yield time >= from && time <= to ? exchange : undefined;
    start = end + 1;
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Counts values and levels without making them: by brackets and commas outside of strings. */
function isExcessive(line: Buffer): boolean {
  let values = 0;
  let depth = 0;
  for (let at = 0; at < line.length; at++) {
    switch (line[at]!) {
      case QUOTE:
        at = endOfString(line, at);
        break;
      case COMMA:
        values += 1;
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        values += 1;
        depth += 1;
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth -= 1;
        break;
      default:
    }
    if (values > VALUES_MAX || depth > DEPTH_MAX) return true;
  }
  return false;
}

/** The quotation mark that ends the string of another one, or the end of the line. */
function endOfString(line: Buffer, start: number): number {
  for (let end = line.indexOf(QUOTE, start + 1); end !== -1; end = line.indexOf(QUOTE, end + 1)) {
    let backslashes = 0;
    while (line[end - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return line.length;
}
