import type { Exchange } from "../record/exchange.ts";
import type { SegmentMetadata } from "../segments/metadata.ts";
import { parseExchange } from "./parse-exchange.ts";

/** The exchanges of a segment. */
export interface SegmentLines {
  readonly exchanges: readonly Exchange[];
  /** Lines. */
  readonly count: number;
  /** Numbers of the lines, from 0, that are not exchanges of this segment. */
  readonly damagedLines: readonly number[];
}

const LINE_FEED = 0x0a;

/** Parses the lines of a segment. */
export function parseLines(bytes: Uint8Array, metadata: SegmentMetadata): SegmentLines {
  const exchanges: Exchange[] = [];
  const damagedLines: number[] = [];
  let count = 0;
  for (const exchange of eachLine(bytes, metadata)) {
    if (exchange === undefined) damagedLines.push(count);
    else exchanges.push(exchange);
    count += 1;
  }
  return { exchanges, count, damagedLines };
}

/**
 * The most values of JSON in a line; it has three for each header. As values they may take 30 times
 * as much memory as in the line.
 */
const VALUES_MAX = 2 ** 18;

/**
 * Parses the lines of a segment one by one, because exchanges may take much more memory than their
 * lines. Undefined are lines that are not exchanges, have more than 262,144 values, or are more lines
 * than the segment announces; and exchanges outside of the times that it announces, because readers
 * rely on them.
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
    const isExpected = index < count && !hasTooManyValues(line);
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
const OPEN_BRACE = 0x7b;

/** Counts what begins values, without making them: brackets and commas outside of strings. */
function hasTooManyValues(line: Buffer): boolean {
  // Each takes a byte at least.
  if (line.length <= VALUES_MAX) return false;
  let values = 0;
  let inString = false;
  for (let at = 0; at < line.length && values <= VALUES_MAX; at++) {
    const unit = line[at];
    if (unit === QUOTE) inString = !inString;
    else if (inString) {
      if (unit === BACKSLASH) at += 1;
    } else if (unit === COMMA || unit === OPEN_BRACKET || unit === OPEN_BRACE) values += 1;
  }
  return values > VALUES_MAX;
}
