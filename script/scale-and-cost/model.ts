/** Storage, requests and cost of contents, computed with the arithmetic of the format. */
import {
  CHILD_OVERHEAD,
  CHUNK_LOG2_DEFAULT,
  FANOUT,
  HASH_LENGTH,
  INLINE_MAX,
  REFERENCE_LENGTH,
  encodeRoot,
  inlineShape,
  padme,
  plaintextLength,
  rootOverhead,
  storedChildren,
  treeShape,
} from "@idk/storage/format";
import { type PriceList, tiered } from "./prices.ts";

/** One content and how it is stored. */
export interface Content {
  /** Bytes. */
  readonly length: number;
  /** Base-2 logarithm of the chunk size, by default 22 (4 MiB). */
  readonly chunkLog2?: number;
  readonly recipients?: number;
  /** By default true. */
  readonly pad?: boolean;
}

/** Bytes and blobs of one content. */
export interface Footprint {
  /** Levels below the root. */
  readonly depth: number;
  readonly leaves: number;
  readonly nodes: number;
  /** Blobs with the root. A put is one PUT per blob, a full get one GET per blob. */
  readonly blobs: number;
  readonly rootBytes: number;
  /** 0 if there are no nodes. */
  readonly largestNodeBytes: number;
  /** Zero bytes after the content, in the stream or in the root. */
  readonly paddingBytes: number;
  readonly storedBytes: number;
  /** GETs for a range within one chunk: one per level. */
  readonly rangeRequests: number;
}

/**
 * @throws RangeError if the content needs more levels than the format allows
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
  const { depth } = shape;
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
  const plaintext = encodeRoot(root, pad).length;
  const rootBytes = rootOverhead(recipients) + plaintext;
  return {
    depth,
    leaves,
    nodes: children.blobs - leaves,
    blobs: children.blobs + 1,
    rootBytes,
    // If any node of a level is full, the first one is.
    largestNodeBytes: depth > 1 ? CHILD_OVERHEAD + plaintextLength(shape, 2, 0) : 0,
    paddingBytes: stream - length + plaintext - encodeRoot(root, false).length,
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
  /** Addresses that the application stores, 32 bytes each. */
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

/** Names per LIST response in S3. */
const PAGE = 1000;

export interface Listing {
  /** LIST requests. */
  readonly pages: number;
  readonly seconds: number;
}

/**
 * Listing with several prefixes in parallel. Names are hashes, so that prefixes of equal length have
 * equal shares.
 *
 * @param latency seconds per page
 */
export function listing(blobs: number, prefixes: number, latency: number): Listing {
  const pagesEach = Math.max(1, Math.ceil(blobs / prefixes / PAGE));
  return { pages: pagesEach * prefixes, seconds: pagesEach * latency };
}

export interface Cost {
  /** Requests to put everything once; ingress is free. */
  readonly put: number;
  readonly storageMonth: number;
  /** Requests and egress to read everything once over the internet. */
  readonly read: number;
  /** Requests to list everything once. */
  readonly list: number;
}

/** Costs in US dollars. */
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
  /** Total bytes and requests per second, of all writers or of all readers. */
  readonly bytesPerSecond: number;
  readonly requestsPerSecond: number;
  /** Number of writers or readers at the given rate each. */
  readonly members: number;
  /** Shares of the provider's documented rates; above 1 if those are not enough. */
  readonly putShare: number;
  readonly getShare: number;
}

/**
 * The writers or readers needed to put or get everything in a given time.
 *
 * @param memberRate bytes per second of one writer or reader
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
 * Memory of a put or get in bytes: three times the chunks in flight, and one node of references per
 * level. It does not depend on the content's length.
 */
export function workingMemory(concurrency: number, chunkLog2: number, depth: number): number {
  return 3 * concurrency * 2 ** chunkLog2 + depth * FANOUT * REFERENCE_LENGTH;
}
