import type { Counts } from "../harness/counting.ts";
import type { MemoryPoint } from "../report/report.ts";
import type { ObjectStoreAccess } from "../suite.ts";
import type { Sample } from "../measure.ts";

/** What to do; where, and with which keys, comes in the environment. */
export type StreamJob =
  | { readonly way: "up"; readonly size: number; readonly seed: number }
  | { readonly way: "down"; readonly address: string };

/** The variable that holds, as JSON, a `StreamPlace`. */
export const STREAM_PLACE = "IDK_BENCH_STREAM_PLACE";

export interface StreamPlace {
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
