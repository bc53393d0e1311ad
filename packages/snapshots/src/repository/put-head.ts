import { type NaCl, StorageError } from "@idk/storage";
import { type Head, encodeHead, encodePayload } from "../format/records/head.ts";
import {
  type Marker,
  compareMarkers,
  formatMarker,
  nextGeneration,
} from "../format/names/marker.ts";
import { type WriterKey, signPayload } from "../format/keys/writer.ts";
import type { ChainId } from "../format/names/identifiers.ts";
import type { MarkerBackend } from "./marker-backend.ts";
import { PREVIOUS_MAX } from "../format/limits.ts";
import type { StoredHead } from "../rules/counting.ts";
import { findMarker, newestMarkers } from "./find-heads.ts";
import { hash, toHex } from "@idk/storage/blobs";
import { sealRecord } from "./records.ts";

/** Where a new head comes in its chain. */
export type HeadPlace = Pick<Head, "generation" | "previous">;

/** Markers further ahead are not among the heads before a new one, which would come after them. */
const AHEAD_NAMED_MS = -60 * 60 * 1000;

/**
 * Where a head comes that follows another one, and those whose markers are listed ahead of it: mostly one
 * request for one key.
 *
 * @param known heads that it is to have before it, the one that it is built on first; none in an empty chain
 * @param now the store's time, in milliseconds
 */
export async function headsBefore(
  backend: MarkerBackend,
  chain: ChainId,
  known: readonly Marker[],
  now: number,
  signal?: AbortSignal,
): Promise<HeadPlace> {
  const [base] = known;
  const before = known.slice(0, PREVIOUS_MAX);
  for await (const { marker } of newestMarkers(backend, chain, now + AHEAD_NAMED_MS, signal)) {
    const isBehind = base !== undefined && compareMarkers(marker, base) >= 0;
    if (isBehind || before.length === PREVIOUS_MAX) break;
    if (!known.some(({ address }) => address === marker.address)) before.push(marker);
  }
  return {
    generation: nextGeneration(
      before.map(({ generation }) => generation),
      now,
    ),
    previous: before.map(({ address }) => address),
  };
}

/** Options of `putHead`. */
export interface PutHeadOptions {
  readonly signal?: AbortSignal | undefined;
  /** Is called between the head and its marker: if it throws, the head does not come into being. */
  readonly beforeMarker?: ((stored: StoredHead) => void | Promise<void>) | undefined;
  readonly deadline?: Deadline | undefined;
}

/** Until when the marker of a head has to be stored. */
export interface Deadline {
  /** By the store, in milliseconds. */
  readonly time: number;
  /** What is thrown if it was not, or may not have been. */
  readonly tooLate: () => StorageError;
}

/**
 * Signs and stores a head, and then its marker: each durable before the next.
 *
 * @param head whose writer is that of the key
 */
export async function putHead(
  { backend, naCl }: { readonly backend: MarkerBackend; readonly naCl: NaCl },
  key: WriterKey,
  head: Head,
  recipients: readonly string[],
  { signal, beforeMarker, deadline }: PutHeadOptions = {},
): Promise<StoredHead> {
  const payload = encodePayload(head);
  const content = encodeHead({ payload, signature: signPayload(key, payload) });
  const { address, blob } = sealRecord(naCl, "head", content, recipients);
  const options = signal ? { signal } : {};
  await backend.put(address, blob, { ...options, sha256: address });
  const marker = { chain: head.chain, generation: head.generation, address };
  const stored = { marker, head, payloadHash: toHex(hash(payload)) };
  await beforeMarker?.(stored);
  if (deadline === undefined) await backend.putMarker(formatMarker(marker), options);
  else await putMarkerBy(backend, marker, deadline, signal);
  return stored;
}

/** Puts a marker, unless it is too late, and looks for it in the listing. */
async function putMarkerBy(
  backend: MarkerBackend,
  marker: Marker,
  { time, tooLate }: Deadline,
  signal: AbortSignal | undefined,
): Promise<void> {
  const left = time - (await backend.currentTime(signal ? { signal } : {}));
  if (left < 0) throw tooLate();
  // Retries may take long, so the put itself ends at the deadline.
  const until = deadlineSignal(signal, left);
  try {
    await backend.putMarker(formatMarker(marker), { signal: until.signal });
  } catch (error) {
    throw until.isOver() ? tooLate() : error;
  } finally {
    until.end();
  }
  const found = await findMarker(backend, marker, signal);
  if (found === undefined) {
    throw new StorageError(
      "unavailable",
      `${backend.description} does not list the marker that was just stored: try again; a store of ` +
        "snapshots has to list what was stored before",
    );
  }
  // The request itself may have waited, for the machine may have been asleep.
  if (found.storedAt > time) throw tooLate();
}

/** Timers with a longer delay fire at once. */
const TIMER_MAX = 2 ** 31 - 1;

/**
 * A signal that fires with another one, or after some time.
 *
 * @returns also a function that ends it, and one for whether the time has passed
 */
function deadlineSignal(
  signal: AbortSignal | undefined,
  milliseconds: number,
): { readonly signal: AbortSignal; end(): void; isOver(): boolean } {
  const own = new AbortController();
  let isOver = false;
  const stop = (): void => own.abort(signal?.reason);
  if (signal?.aborted === true) stop();
  signal?.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(
    () => {
      isOver = true;
      own.abort();
    },
    Math.min(Math.max(0, milliseconds), TIMER_MAX),
  );
  return {
    signal: own.signal,
    end() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    },
    isOver: () => isOver,
  };
}
