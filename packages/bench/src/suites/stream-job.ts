import { createHash } from "node:crypto";
import { noise } from "../harness/content.ts";
import type { Counts } from "../harness/counting.ts";
import type { Sample } from "../harness/measure.ts";
import type { MemoryPoint } from "../report/report.ts";
import { seededRandom } from "../statistics/random.ts";
import type { ObjectStoreAccess } from "../suite.ts";

/** What to do; where, and with which keys, comes in the environment. */
export type StreamJob =
  | { readonly way: "up"; readonly size: number; readonly seed: number }
  | { readonly way: "down"; readonly address: string };

/** The variable that holds, as JSON, a `StreamStore`. */
export const STREAM_STORE = "IDK_BENCH_STREAM_STORE";

export interface StreamStore {
  readonly access: ObjectStoreAccess;
  /** As text, with its secret. */
  readonly identity: string;
}

export interface Streamed extends Sample {
  /** Of a stream up its address, of one down the SHA-256 of what came. */
  readonly result: string;
  readonly memory: readonly MemoryPoint[];
  readonly counts: Counts;
}

const PIECE = 1_000_000;
/** So many pieces may be read, and not be used up, before the first one is written anew. */
const RING = 8;

/**
 * Content of any length that takes the memory of eight pieces of 1 MB and is the same for the same
 * seed. Each piece begins with its number, so that pieces that change places are noticed.
 */
export async function* streamContent(
  length: number,
  seed: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const random = seededRandom(seed);
  const ring = Array.from({ length: RING }, () => noise(PIECE, random));
  for (let offset = 0, i = 0; offset < length; offset += PIECE, i++) {
    const piece = ring[i % RING]!;
    new DataView(piece.buffer).setUint32(0, i);
    yield piece.subarray(0, Math.min(PIECE, length - offset));
  }
}

/** The SHA-256 of a stream, as 64 hex digits. */
export async function hashOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}
