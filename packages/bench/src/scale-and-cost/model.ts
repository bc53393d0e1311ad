/** What contents take in a store, by the format's own arithmetic: nothing is written. */
import {
  CHILD_OVERHEAD,
  CHUNK_LOG2_DEFAULT,
  FANOUT,
  HASH_LENGTH,
  INLINE_MAX,
  REFERENCE_LENGTH,
  inlineShape,
  layOutRoot,
  padme,
  plaintextLength,
  rootOverhead,
  storedChildren,
  treeShape,
} from "@idk/storage/format";
import { type PriceList, tiered } from "./prices.ts";

/** One content, and how it is written. */
export interface Content {
  /** Bytes. */
  readonly length: number;
  /** By default 22: 4 MiB. */
  readonly chunkLog2?: number;
  readonly recipients?: number;
  /** By default on. */
  readonly pad?: boolean;
}

/** What one content takes, in bytes and blobs. */
export interface Footprint {
  /** Levels below the root. */
  readonly depth: number;
  readonly leaves: number;
  readonly nodes: number;
  /** With the root. A put is one PUT for each, a whole get one GET. */
  readonly blobs: number;
  readonly rootBytes: number;
  /** 0 where there is none. */
  readonly largestNodeBytes: number;
  /** Zero bytes behind the content, as stream padding or as the root's. */
  readonly paddingBytes: number;
  readonly storedBytes: number;
  /** GETs for a range within one chunk: the path from the root. */
  readonly rangeRequests: number;
}

/**
 * @throws RangeError where the content needs more levels than the format has
 */
export function footprint({
  length,
  chunkLog2 = CHUNK_LOG2_DEFAULT,
  recipients = 1,
  pad = true,
}: Content): Footprint {
  const inline = length <= INLINE_MAX;
  const stream = inline || !pad ? length : padme(length);
  const shape = inline ? inlineShape(length) : treeShape(stream, 2 ** chunkLog2);
  if (shape === undefined) throw new RangeError(`${length} bytes need larger chunks`);
  const depth = shape.counts.length;
  const [leaves = 0] = shape.counts;
  const children = storedChildren(shape);

  const root = {
    depth,
    chunkLog2: inline ? 0 : chunkLog2,
    contentLength: length,
    padding: stream - length,
    metadata: new Map(),
    body: new Uint8Array(inline ? length : (shape.counts.at(-1) ?? 0) * REFERENCE_LENGTH),
  };
  const plaintext = layOutRoot(root, pad).length;
  const rootBytes = rootOverhead(recipients) + plaintext;
  return {
    depth,
    leaves,
    nodes: children.blobs - leaves,
    blobs: children.blobs + 1,
    rootBytes,
    // The first node of a level is full wherever any is.
    largestNodeBytes: depth > 1 ? CHILD_OVERHEAD + plaintextLength(shape, 2, 0) : 0,
    paddingBytes: stream - length + plaintext - layOutRoot(root, false).length,
    storedBytes: children.bytes + rootBytes,
    rangeRequests: depth + 1,
  };
}

/** Contents of one kind. */
export interface Scenario {
  readonly name: string;
  readonly objects: number;
  readonly content: Content;
}

export interface Totals {
  readonly contentBytes: number;
  readonly storedBytes: number;
  readonly blobs: number;
  /** Addresses that the application keeps: 32 bytes each. */
  readonly addressBytes: number;
}

export function totals({ objects, content }: Scenario): Totals {
  const one = footprint(content);
  return {
    contentBytes: objects * content.length,
    storedBytes: objects * one.storedBytes,
    blobs: objects * one.blobs,
    addressBytes: objects * HASH_LENGTH,
  };
}

/** Names that one LIST request brings, by the protocol of S3. */
const PAGE = 1000;

export interface Listing {
  /** LIST requests. */
  readonly pages: number;
  readonly seconds: number;
}

/**
 * Listing by so many prefixes side by side. Names are hashes, so that every prefix of a length has
 * its equal share of them.
 *
 * @param latency seconds for one page
 */
export function listing(blobs: number, prefixes: number, latency: number): Listing {
  const pagesEach = Math.max(1, Math.ceil(blobs / prefixes / PAGE));
  return { pages: pagesEach * prefixes, seconds: pagesEach * latency };
}

export interface Cost {
  /** Requests of putting everything once; sending the bytes costs nothing. */
  readonly put: number;
  readonly storageMonth: number;
  /** Requests and egress of reading everything once, over the internet. */
  readonly read: number;
  /** Requests of listing everything once. */
  readonly list: number;
}

/** Dollars. */
export function cost({ blobs, storedBytes }: Totals, prices: PriceList): Cost {
  const gigabytes = storedBytes / prices.gigabyte;
  const charged = Math.max(0, 1 - prices.freeReads) * gigabytes;
  return {
    put: (blobs / 1000) * prices.put,
    storageMonth: tiered(gigabytes, prices.storage),
    read: (blobs / 1000) * prices.get + tiered(charged, prices.egress),
    list: (listing(blobs, 1, 0).pages / 1000) * prices.list,
  };
}

export interface Fleet {
  /** Bytes and requests a second that all writers do together, and all readers. */
  readonly bytesPerSecond: number;
  readonly requestsPerSecond: number;
  /** Writers, or readers, at the given rate each. */
  readonly members: number;
  /** Of the provider's documented rates; above 1 where they do not suffice. */
  readonly putShare: number;
  readonly getShare: number;
}

/**
 * What it takes to put everything, or to get it, within a time.
 *
 * @param seconds the time
 * @param memberRate bytes a second of one writer or reader
 */
export function fleet(
  { blobs, storedBytes }: Totals,
  seconds: number,
  memberRate: number,
  { rate }: PriceList,
): Fleet {
  const [bytesPerSecond, requestsPerSecond] = [storedBytes / seconds, blobs / seconds];
  return {
    bytesPerSecond,
    requestsPerSecond,
    members: Math.ceil(bytesPerSecond / memberRate),
    putShare: requestsPerSecond / rate.put,
    getShare: requestsPerSecond / rate.get,
  };
}

/**
 * Bytes that a put or get holds: three times what is in flight, and a node of references for each
 * level, whatever the content's length.
 */
export function workingMemory(concurrency: number, chunkLog2: number, depth: number): number {
  return 3 * concurrency * 2 ** chunkLog2 + depth * FANOUT * REFERENCE_LENGTH;
}
