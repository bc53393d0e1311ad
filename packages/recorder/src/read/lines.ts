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

/**
 * Parses the lines of a segment. An exchange outside of the times that the segment announces counts
 * as damaged, because readers rely on them.
 */
export function parseLines(bytes: Uint8Array, { from, to }: SegmentMetadata): SegmentLines {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const exchanges: Exchange[] = [];
  const damagedLines: number[] = [];
  let count = 0;
  for (let start = 0; start < buffer.length; count++) {
    const feed = buffer.indexOf(LINE_FEED, start);
    const end = feed === -1 ? buffer.length : feed;
    const exchange = parseExchange(buffer.toString("utf8", start, end));
    const time = exchange === undefined ? Number.NaN : Date.parse(exchange.time);
    if (exchange !== undefined && time >= from && time <= to) exchanges.push(exchange);
    else damagedLines.push(count);
    start = end + 1;
  }
  return { exchanges, count, damagedLines };
}
