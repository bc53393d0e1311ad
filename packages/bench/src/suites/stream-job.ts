import { createHash } from "node:crypto";
import { noise } from "../harness/content.ts";
import type { Counts } from "../harness/counting.ts";
import type { Sample } from "../harness/measure.ts";
import type { MemoryPoint } from "../report/report.ts";
import { seededRandom } from "../statistics/random.ts";
import type { ObjectStoreAccess } from "../suite.ts";

/** A stream up or down. The store and the keys are in the environment. */
export type StreamJob =
  | { readonly way: "up"; readonly size: number; readonly seed: number }
  | { readonly way: "down"; readonly address: string };

/** The environment variable with a `StreamStore` as JSON. */
export const STREAM_STORE = "IDK_BENCH_STREAM_STORE";

export interface StreamStore {
  readonly access: ObjectStoreAccess;
  /** As text, with the secret key. */
  readonly identity: string;
}

export interface Streamed extends Sample {
  /** The address of a stream up, the SHA-256 of a stream down. */
  readonly result: string;
  readonly memory: readonly MemoryPoint[];
  readonly counts: Counts;
}

const PIECE = 1_000_000;
/** A piece is overwritten after this many further pieces. */
const RING = 8;

/**
 * Content of any length in the memory of eight pieces of 1 MB, determined by the seed. Each piece begins
 * with its number, so that the hash detects pieces in the wrong order.
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
