import type { Backend } from "../backend/backend.ts";
import type { BufferPool } from "./buffers.ts";
import type { Defaults } from "./check-options.ts";
import type { Flows } from "./flow/flow.ts";
import type { Measuring } from "./flow/measuring.ts";
import type { LeafWorkers } from "./workers/pool.ts";
import type { Queue } from "../queue.ts";
import type { NaCl } from "../crypto/nacl/nacl.ts";

/** What every operation of a store works with. */
export interface StoreContext {
  readonly backend: Backend;
  readonly naCl: NaCl;
  /** For leaves that are read. They then hold plaintext, so they are never used for uploads. */
  readonly readBuffers: BufferPool;
  /** As `readBuffers`, for roots, of which many may be read at once. */
  readonly rootBuffers: BufferPool;
  /** For blobs of any kind, that are fetched as a whole and not opened. */
  readonly blobBuffers: BufferPool;
  /** Runs what checks the chunks of a tree: few trees at the same time, each with many chunks in flight. */
  readonly queueTree: Queue;
  /** For blobs that are sealed and written. */
  readonly writeBuffers: BufferPool;
  /** For leaves of large content; undefined if they are disabled or not available. */
  readonly workers: LeafWorkers | undefined;
  readonly defaults: Defaults;
  readonly flows: Flows;
  /** Measures the roots and nodes that are written, if how many are in flight follows from that. */
  readonly measuring?: Measuring | undefined;
  /** Whether this store has written, or would write, with a dedup secret. */
  deduplicates(): boolean;
}
