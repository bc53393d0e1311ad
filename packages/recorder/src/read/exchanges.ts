import { type Store, StorageError } from "@idk/storage";
import type { Exchange } from "../record/exchange.ts";
import { type ExchangeFilter, exchangeMatcher, mayHaveId } from "./filter.ts";
import { createHeap } from "./heap.ts";
import { eachLine } from "./lines.ts";
import { collectSegments, compareText, type ReadFault } from "./list-segments.ts";
import { memoryOf } from "./memory.ts";
import { isDamage, linesIn, type Segment } from "./segments.ts";
import type { SegmentMetadata } from "../segments/metadata.ts";

/** Options of `readExchanges`. */
export interface ReadExchangesOptions extends ExchangeFilter {
  readonly signal?: AbortSignal | undefined;
  /** Told of what cannot be read; the rest is. */
  readonly onFault?: ((fault: ReadFault) => void) | undefined;
  /** Called after each blob of the first pass. */
  readonly onBlob?: (() => void) | undefined;
}

/** Segments are kept from the first pass if they fit; the others are fetched twice. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024;

/** Segments fetched ahead in the second pass, and their bytes, unless a single one has more. */
const AHEAD = 4;
const AHEAD_BYTES_MAX = 32 * 1024 * 1024;

/** Exchanges that wait for their turn. More of them mean that too many segments overlap. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024;

/** A segment between the passes. */
interface Found {
  readonly address: string;
  readonly metadata: SegmentMetadata;
  /** Bytes of its lines. */
  readonly size: number;
  /** Undefined if they are to be fetched again. */
  readonly lines: Uint8Array | undefined;
}

/** A segment that is fetched. */
interface Fetched {
  readonly size: number;
  readonly lines: Promise<Uint8Array | undefined>;
}

/** An exchange that waits, and about how many bytes of memory it takes. */
interface Waiting {
  readonly time: number;
  readonly exchange: Exchange;
  readonly bytes: number;
}

/**
 * The exchanges of an archive in the order in which they began. Reads all segments for their times
 * first, because they are stored in any order. Memory is 32 MiB for segments that are kept, as much for
 * those that are fetched ahead, the times of all segments, and the exchanges of those that overlap in
 * time. Damaged are segments of over 1 MiB, or over 32 MiB if they have one line, which no recorder makes.
 *
 * @throws StorageError `usage`, `key`, `permission`, `unavailable`, `aborted`; `limit` if so many
 *   segments overlap that their exchanges take over 256 MiB
 */
export async function* readExchanges(
  store: Store,
  options: ReadExchangesOptions = {},
): AsyncGenerator<Exchange> {
  const { onFault = () => {}, signal } = options;
  const matches = exchangeMatcher(options);
  const waiting = createHeap<Waiting>(
    (a, b) => a.time - b.time || compareIds(a.exchange.id, b.exchange.id),
  );
  let waitingBytes = 0;

  const found = await findSegments(store, options, onFault);
  for await (const { address, metadata, lines } of inTurn(store, found, onFault, signal)) {
    while (waiting.size > 0 && waiting.first()!.time < metadata.from) {
      const { exchange, bytes } = waiting.take()!;
      waitingBytes -= bytes;
      yield exchange;
    }
    let damaged = 0;
    for (const exchange of eachLine(lines, metadata)) {
      if (exchange === undefined) damaged += 1;
      if (exchange === undefined || !matches(exchange)) continue;
      const bytes = memoryOf(exchange);
      waiting.add({ time: Date.parse(exchange.time), exchange, bytes });
      waitingBytes += bytes;
      if (waitingBytes > WAITING_BYTES_MAX) {
        throw new StorageError(
          "limit",
          "too many segments overlap in time to put their exchanges in order: read a shorter time",
        );
      }
    }
    if (damaged > 0) onFault({ kind: "lines", address, count: damaged });
  }
  while (waiting.size > 0) yield waiting.take()!.exchange;
}

/** The segments that may have what is wanted, by the time at which they begin. */
async function findSegments(
  store: Store,
  options: ReadExchangesOptions,
  onFault: (fault: ReadFault) => void,
): Promise<Found[]> {
  let kept = 0;
  return collectSegments(store, { ...options, onFault }, async (segment) => {
    const { address, metadata, size } = segment;
    if (metadata.count === 0 || !mayHaveId(metadata.run, options.id)) return undefined;
    if (kept + size > KEPT_BYTES_MAX) return { address, metadata, size, lines: undefined };
    const lines = await linesOf(segment, onFault);
    kept += lines?.length ?? 0;
    return lines && { address, metadata, size, lines };
  });
}

/** Segments with their lines, in order; fetches some ahead. */
async function* inTurn(
  store: Store,
  found: readonly Found[],
  onFault: (fault: ReadFault) => void,
  signal: AbortSignal | undefined,
): AsyncGenerator<Found & { readonly lines: Uint8Array }> {
  const ahead: Fetched[] = [];
  let aheadBytes = 0;
  const fetch = async ({ address, lines, metadata }: Found): Promise<Uint8Array | undefined> => {
    if (lines !== undefined) return lines;
    try {
      return await linesIn(await store.get(address, { signal }), metadata);
    } catch (error) {
      // Deleted since the first pass.
      if (error instanceof StorageError && error.code === "not-found") return undefined;
      if (!isDamage(error)) throw error;
      onFault({ kind: "damaged", address, error });
      return undefined;
    }
  };
  for (const [index, each] of found.entries()) {
    while (ahead.length <= AHEAD && index + ahead.length < found.length) {
      const next = found[index + ahead.length]!;
      // Those that were kept take no more memory.
      const size = next.lines === undefined ? next.size : 0;
      if (ahead.length > 0 && aheadBytes + size > AHEAD_BYTES_MAX) break;
      const lines = fetch(next);
      // Awaited in its turn; until then a rejection must not count as unhandled.
      lines.catch(() => {});
      ahead.push({ size, lines });
      aheadBytes += size;
    }
    const { size, lines: fetched } = ahead.shift()!;
    const lines = await fetched;
    if (lines !== undefined) yield { ...each, lines };
    aheadBytes -= size;
  }
}

/** @returns undefined if they are damaged */
async function linesOf(
  segment: Segment,
  onFault: (fault: ReadFault) => void,
): Promise<Uint8Array | undefined> {
  try {
    return await segment.lines();
  } catch (error) {
    if (!isDamage(error)) throw error;
    onFault({ kind: "damaged", address: segment.address, error });
    return undefined;
  }
}

/** Those of one run by their numbers. */
function compareIds(a: string, b: string): number {
  return a.length - b.length || compareText(a, b);
}
