import type { NaCl } from "@idk/storage";
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
import { newestMarkers } from "./find-heads.ts";
import { sealRecord } from "./records.ts";

/** Where a new head comes in its chain. */
export type HeadPlace = Pick<Head, "generation" | "previous">;

/** Markers further ahead are not among the heads before a new one, which would come after them. */
const AHEAD_NAMED_MS = -60 * 60 * 1000;

/**
 * Where a head comes that follows another one, and those whose markers are listed ahead of it: mostly one
 * request for one key.
 *
 * @param base what it is built on; undefined if there is none
 * @param now the store's time, in milliseconds
 */
export async function headsBefore(
  backend: MarkerBackend,
  chain: ChainId,
  base: Marker | undefined,
  now: number,
  signal?: AbortSignal,
): Promise<HeadPlace> {
  const before = base === undefined ? [] : [base];
  for await (const { marker } of newestMarkers(backend, chain, now + AHEAD_NAMED_MS, signal)) {
    const isBehind = base !== undefined && compareMarkers(marker, base) >= 0;
    if (isBehind || before.length === PREVIOUS_MAX) break;
    before.push(marker);
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
  /** Is awaited between the head and its marker: if it throws, the head does not come into being. */
  readonly beforeMarker?: (() => Promise<void>) | undefined;
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
  { signal, beforeMarker }: PutHeadOptions = {},
): Promise<Marker> {
  const payload = encodePayload(head);
  const content = encodeHead({ payload, signature: signPayload(key, payload) });
  const { address, blob } = sealRecord(naCl, "head", content, recipients);
  const options = signal ? { signal } : {};
  await backend.put(address, blob, { ...options, sha256: address });
  await beforeMarker?.();
  const marker = { chain: head.chain, generation: head.generation, address };
  await backend.putMarker(formatMarker(marker), options);
  return marker;
}
