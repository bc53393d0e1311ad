import type { Address } from "@idk/storage";
import { type ChainId, isSixteenBytes } from "./identifiers.ts";
import { AHEAD_MAX_MS, ADDRESS_LENGTH, CHAIN_LENGTH } from "../limits.ts";
import { concat, fromHex, toHex } from "@idk/storage/blobs";
import { malformed } from "../checks.ts";

/**
 * Where a head is in its chain. The marker of a head is an empty object whose name has all of this, so
 * that a listing, in order of names, begins with the newest head.
 */
export interface Marker {
  readonly chain: ChainId;
  /** 0 to 2^53−1, greater for newer heads; about the Unix time in milliseconds. */
  readonly generation: number;
  /** The address of the head. */
  readonly address: Address;
}

/** Names have 2^64−1−g, so that they ascend from the newest. */
const GENERATION_TOP = 2n ** 64n - 1n;
const GENERATION_LENGTH = 8;
/** `chain ‖ 2^64−1−g ‖ address`, as a head names the markers it forgets. */
export const MARKER_LENGTH: number = CHAIN_LENGTH + GENERATION_LENGTH + ADDRESS_LENGTH;

const NAME = /^([0-9a-f]{32})\/([0-9a-f]{16})-([0-9a-f]{64})$/u;

/** A generation as names have it: 2^64−1−g, 16 hexadecimal digits. */
export function invertedGeneration(generation: number): string {
  return (GENERATION_TOP - BigInt(generation)).toString(16).padStart(2 * GENERATION_LENGTH, "0");
}

function generationOf(inverted: string): number | undefined {
  const generation = GENERATION_TOP - BigInt(`0x${inverted}`);
  return generation <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(generation) : undefined;
}

/** The name of a marker, below `heads/`. */
export function formatMarker({ chain, generation, address }: Marker): string {
  return `${chain}/${invertedGeneration(generation)}-${address}`;
}

/** The chain of a name that a backend lists, even if its generation is out of range. */
export function chainOfName(name: string): ChainId {
  return name.slice(0, 2 * CHAIN_LENGTH) as ChainId;
}

/** The marker of a name below `heads/`; undefined for any other name, which is no marker. */
export function parseMarker(name: string): Marker | undefined {
  const [, chain, inverted, address] = NAME.exec(name) ?? [];
  if (chain === undefined || inverted === undefined || address === undefined) return undefined;
  const generation = generationOf(inverted);
  if (generation === undefined) return undefined;
  return { chain: chain as ChainId, generation, address: address as Address };
}

/**
 * Where a listing of a chain's markers begins to find the newest at once: markers further ahead than a
 * day do not count, and anyone who can put can make them up.
 *
 * @param now the store's time in milliseconds
 */
export function newestMarkersFrom(chain: ChainId, now: number): string {
  return `${chain}/${invertedGeneration(Math.min(now + AHEAD_MAX_MS, Number.MAX_SAFE_INTEGER))}`;
}

/** The order of names: newest first, and of equal generations the lesser address first. */
export function compareMarkers(a: Marker, b: Marker): number {
  if (a.generation !== b.generation) return b.generation - a.generation;
  return a.address < b.address ? -1 : a.address > b.address ? 1 : 0;
}

/**
 * The generation of a new head.
 *
 * @param previous the generations of the heads before it
 * @param now milliseconds since 1970
 */
export function nextGeneration(previous: readonly number[], now: number): number {
  let generation = now;
  for (const before of previous) generation = Math.max(generation, before + 1);
  if (!Number.isSafeInteger(generation) || generation < 0) {
    throw new RangeError("a generation is an integer from 0 to 2^53−1");
  }
  return generation;
}

/** A marker as a head of kind `forget` names it, 56 bytes. */
export function encodeMarker({ chain, generation, address }: Marker): Uint8Array {
  return concat(fromHex(chain), fromHex(invertedGeneration(generation)), fromHex(address));
}

/** Decodes the 56 bytes of `encodeMarker`. */
export function decodeMarker(bytes: Uint8Array): Marker {
  const text = toHex(bytes);
  const chain = text.slice(0, 2 * CHAIN_LENGTH);
  const inverted = text.slice(2 * CHAIN_LENGTH, 2 * (CHAIN_LENGTH + GENERATION_LENGTH));
  const generation = generationOf(inverted);
  if (bytes.length !== MARKER_LENGTH || generation === undefined || !isSixteenBytes(chain)) {
    throw malformed("a marker that it names is malformed");
  }
  const address = text.slice(2 * (CHAIN_LENGTH + GENERATION_LENGTH)) as Address;
  return { chain: chain as ChainId, generation, address };
}
