import { type Marker as ListedName, StorageError } from "@idk/storage";
import type { ChainId } from "../format/names/identifiers.ts";
import {
  type Marker,
  formatMarker,
  newestMarkersFrom,
  parseMarker,
} from "../format/names/marker.ts";
import { type Pinned, type StoredHead, isAhead, verifiedHead } from "../rules/counting.ts";
import { type RecordReader, readRecord } from "./records.ts";
import type { MarkerBackend } from "./marker-backend.ts";

/** A marker as a listing has it. */
export interface ListedMarker {
  readonly marker: Marker;
  /** The store's time of it, in milliseconds since 1970. */
  readonly storedAt: number;
}

/** A head that counts, as far as this does not depend on settings. */
export interface FoundHead extends StoredHead {
  /** The store's time of the marker, in milliseconds since 1970. */
  readonly storedAt: number;
}

/** A marker whose head does not count. */
export interface RefusedHead extends ListedMarker {
  /** Why: `head`, or a fault of its blob, `not-found` included. */
  readonly error: StorageError;
}

/** The markers whose names begin so, in the order of names: chain by chain, newest first. */
export async function* listMarkers(
  backend: MarkerBackend,
  prefix: string,
  options: { readonly after?: string; readonly limit?: number; readonly signal?: AbortSignal } = {},
): AsyncGenerator<ListedMarker> {
  for await (const listed of backend.listMarkers(prefix, options)) yield* markerOf(listed);
}

function* markerOf({ name, storedAt }: ListedName): Generator<ListedMarker> {
  const marker = parseMarker(name);
  if (marker !== undefined) yield { marker, storedAt };
}

/** A marker, if the store lists it: one request for one key. */
export async function findMarker(
  backend: MarkerBackend,
  marker: Marker,
  signal?: AbortSignal,
): Promise<ListedMarker | undefined> {
  const name = formatMarker(marker);
  // Less than the name, and greater than all other names before it.
  const options = { after: name.slice(0, -1), limit: 1, ...(signal && { signal }) };
  for await (const listed of listMarkers(backend, name, options)) return listed;
  return undefined;
}

/** Whether the marker of a head is there. */
export async function isListed(
  { backend }: { readonly backend: MarkerBackend },
  { marker }: { readonly marker: Marker },
  signal?: AbortSignal,
): Promise<boolean> {
  return (await findMarker(backend, marker, signal)) !== undefined;
}

/** Keys in the first listing for the newest, and by what the next ones grow. */
const FIRST_LIMIT = 1;
const GROWTH = 32;
const LIMIT_MAX = 1000;

/**
 * The markers of a chain that may be its newest, newest first. The first takes one request for one key.
 *
 * @param now the store's time, in milliseconds
 * @param first the first name of the chain in a listing: if it is the newest, it takes no request
 */
export async function* newestMarkers(
  backend: MarkerBackend,
  chain: ChainId,
  now: number,
  signal?: AbortSignal,
  first?: ListedName,
): AsyncGenerator<ListedMarker> {
  let after = newestMarkersFrom(chain, now);
  let limit = FIRST_LIMIT;
  if (first !== undefined && first.name > after) {
    yield* markerOf(first);
    after = first.name;
    limit = GROWTH;
  }
  for (; ; limit = Math.min(limit * GROWTH, LIMIT_MAX)) {
    let count = 0;
    const options = { after, limit, ...(signal && { signal }) };
    for await (const listed of backend.listMarkers(`${chain}/`, options)) {
      count += 1;
      after = listed.name;
      yield* markerOf(listed);
    }
    if (count < limit) return;
  }
}

/** Faults of one head, which is reported and skipped. All others end what is being done. */
const FAULTS = new Set([
  "limit",
  "address",
  "format",
  "no-match",
  "commit",
  "auth",
  "root",
  "tree",
  "encoding",
  "head",
  "not-found",
]);

/**
 * Whether what failed is one blob, and not the store or the call. Not a blob that the server has and cannot
 * return now: nothing may be deleted, forgotten or passed over because of what may be readable tomorrow.
 */
export function isFaultOfOne(error: unknown): error is StorageError {
  return isFaultForNow(error) && !error.transient;
}

/** As `isFaultOfOne`, or a blob that the server cannot return now: only for what reads and reports. */
export function isFaultForNow(error: unknown): error is StorageError {
  return error instanceof StorageError && FAULTS.has(error.code);
}

/** Options of `readHead`. */
export interface ReadHeadOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Also reports heads that the server has and cannot return now, which end the call otherwise. Only for
   * what reads: nobody knows what such a head says.
   */
  readonly reportUnreadable?: boolean | undefined;
}

/**
 * Reads a head and verifies what does not depend on settings: one request, none if its marker is too far
 * ahead of the store's time.
 *
 * @param now the store's time, in milliseconds
 * @throws StorageError if the failure is not of this head alone
 */
export async function readHead(
  reader: RecordReader,
  pinned: Pinned,
  { marker, storedAt }: ListedMarker,
  now: number,
  {
    signal,
    reportUnreadable = false,
    onLong,
  }: ReadHeadOptions & { readonly onLong?: () => void } = {},
): Promise<FoundHead | RefusedHead> {
  if (isAhead(marker, storedAt, now)) {
    const text = `the head ${marker.address} does not count: its marker is over a day ahead of the store's time`;
    return { marker, storedAt, error: new StorageError("head", text) };
  }
  try {
    const content = await readRecord(reader, "head", marker.address, signal, onLong);
    return { ...verifiedHead(content, marker, pinned), storedAt };
  } catch (error) {
    const isFault = reportUnreadable ? isFaultForNow : isFaultOfOne;
    if (!isFault(error)) throw error;
    return { marker, storedAt, error };
  }
}

/** Heads that are read at once where nothing is measured. A long one takes a buffer of two MiB. */
export const READ_AT_ONCE = 8;

/**
 * Calls `read` for each item, several at a time, and yields the results in order.
 *
 * @param atOnce how many; is asked before each
 */
export async function* readInOrder<Found, T>(
  read: (found: Found) => Promise<T>,
  all: AsyncIterable<Found>,
  atOnce: () => number = () => READ_AT_ONCE,
): AsyncGenerator<T> {
  const pending: Promise<T>[] = [];
  try {
    for await (const found of all) {
      const reading = read(found);
      // A rejection is thrown when this item is awaited.
      reading.catch(() => undefined);
      pending.push(reading);
      while (pending.length >= atOnce()) yield await pending.shift()!;
    }
    while (pending.length > 0) yield await pending.shift()!;
  } finally {
    await Promise.allSettled(pending);
  }
}
