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
 * Parses the lines of a segment one by one, because exchanges may take much more memory than their
 * lines. An exchange outside of the times that the segment announces counts as damaged, because
 * readers rely on them: it is undefined, as is a line that is not an exchange.
 */
export function* eachLine(
  bytes: Uint8Array,
  { from, to }: SegmentMetadata,
): Generator<Exchange | undefined> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let start = 0; start < buffer.length;) {
    const feed = buffer.indexOf(LINE_FEED, start);
    const end = feed === -1 ? buffer.length : feed;
    const exchange = parseExchange(buffer.toString("utf8", start, end));
    const time = exchange === undefined ? Number.NaN : Date.parse(exchange.time);
    yield time >= from && time <= to ? exchange : undefined;
    start = end + 1;
  }
}
