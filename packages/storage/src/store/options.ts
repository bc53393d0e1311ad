import type { Backend, CallOptions } from "../backend/backend.ts";
import type { Compression } from "../content/compression/compress.ts";
import type { MemoryBudget } from "./flow/budget.ts";
import type { Identity } from "../crypto/keys.ts";
import type { NaCl } from "../crypto/nacl/nacl.ts";
import type { NaClChoice } from "../crypto/nacl/load-nacl.ts";

export type { CallOptions };

/** How content is split and sealed. A store's own options are the defaults for its calls. */
export interface WriteOptions {
  /** Bytes per chunk: a power of two from 256 KiB to 16 MiB, by default 4 MiB. */
  readonly chunkSize?: number | undefined;
  /** `padme` hides exact lengths for at most 12 % more bytes. By default `padme`. */
  readonly padding?: "padme" | "none" | undefined;
  /**
   * Compresses content before it is sealed. By default `none`, because the compressed length leaks
   * information about the content (docs/threat-model.md), and because compressed content has no
   * ranges and deduplicates only as a whole.
   *
   * - `zstd` requires a runtime that has it: Bun, or Node 22.15 and later. Level 3.
   * - `lz4` is faster and compresses less; it requires the optional package lz4-napi.
   * - `auto` uses zstd, or else lz4, if that saves at least a tenth. Content up to 1 MiB is measured
   *   as a whole, longer content by three windows of 64 KiB from its first mebibyte. Otherwise, or
   *   if neither codec is available, content is stored uncompressed.
   *
   * Takes about 50 MiB more memory with zstd, and a few hundred MiB more with lz4
   * (docs/decisions/0010). If the codec is not available, the call fails with `usage` before
   * anything is read.
   */
  readonly compression?: Compression | undefined;
  /**
   * 32 random bytes shared by the writers that deduplicate together. Identical content then gives
   * identical blobs, which the server can see (docs/threat-model.md). If the server verifies SHA-256
   * checksums, each blob is checked with a HEAD request first, and is not uploaded again if the
   * server received it intact and returns 64 bytes of it, at a random place: one ranged read for each
   * blob that is skipped. Without permission to read, everything is uploaded. That does not repair a
   * blob that has rotted since: `delete` it first.
   */
  readonly dedupSecret?: Uint8Array | undefined;
  /**
   * The most chunks in flight at once, 1 to 64, by default 64. Up to that, the number follows what
   * is measured: it begins with 4, is up to 8 if a chunk takes long to arrive, grows while more
   * transfer faster, as they do to a store far away, and falls if the backend has to retry. Each takes
   * about three times its size of `memory`.
   */
  readonly concurrency?: number | undefined;
}

/** Options of calls that open blobs. */
export interface ReadOptions extends CallOptions {
  /** Used instead of the store's identities. */
  readonly identities?: readonly Identity[] | undefined;
}

/**
 * Content processed so far. For a put, `bytes` counts the caller's content, before compression, up
 * to the end of the last chunk stored. For a get, `bytes` counts content as it is stored, before
 * decompression. `total` is in the same unit, and is present if it is known in advance. `chunks`
 * counts leaves; it is 0 for inline content.
 */
export interface Progress {
  readonly bytes: number;
  readonly total?: number;
  readonly chunks: number;
}

/** Options of `createStore`. */
export interface StoreOptions extends WriteOptions {
  readonly backend: Backend;
  /** Default recipients of what `put` writes. */
  readonly recipients?: readonly string[] | undefined;
  /** Tried in order when a blob is opened. */
  readonly identities?: readonly Identity[] | undefined;
  /** The NaCl implementation; by default the native one if it loads. */
  readonly nacl?: NaClChoice | NaCl | undefined;
  /**
   * Threads that seal and open the chunks of content of 32 MiB and more, 0 to 64. By default one per
   * core, at most 8, and none on a single core. With 0, or with the caller's own `nacl`, all work
   * stays in the calling thread. The threads start with the first such content, end with `close`,
   * and do not keep the process alive. For each put at a time, each thread may hold two more chunks in
   * memory. A get opens as many chunks at once as it fetches.
   */
  readonly workers?: number | undefined;
  /**
   * What the process may take: a number of bytes for this store, or a budget that several share; see
   * `createMemoryBudget`. By default 256 MiB for all stores of the process that set none. It counts
   * 160 MiB for the runtime and its threads, three times the size of each chunk in flight, up to 2 MiB
   * for each item of many, and up to 48 MiB for each blob that is verified or copied as a whole. Each
   * call may have two in flight whatever the others use, and each put seals ahead (see `workers`), so
   * many calls at once take more. `Infinity` is no bound.
   */
  readonly memory?: number | MemoryBudget | undefined;
}
