import type { Compression } from "../content/compression/compress.ts";
import type { Identity } from "../crypto/keys.ts";
import type { Backend } from "../backend/backend.ts";
import type { NaCl } from "../crypto/nacl.ts";
import type { NaClChoice } from "../crypto/load-nacl.ts";

/** How content is cut and sealed; a store's own are the defaults of its calls. */
export interface WriteOptions {
  /** Bytes per chunk: a power of two from 256 KiB to 16 MiB, by default 4 MiB. */
  readonly chunkSize?: number | undefined;
  /** Hide exact lengths by Padmé (at most 12 % more bytes), or not; by default `padme`. */
  readonly padding?: "padme" | "none" | undefined;
  /**
   * Compress content before it is sealed; by default `none`, because compression lets the length
   * tell something about what the content says (docs/threat-model.md), and because compressed
   * content has no ranges and deduplicates as a whole only.
   *
   * - `zstd` takes a runtime that has it: Bun, or Node from 22.15. Level 3.
   * - `lz4` is faster and compresses less; takes the optional package lz4-napi.
   * - `auto` takes zstd, or else lz4, where that saves a tenth: of content up to 1 MiB as a whole,
   *   of longer content in three windows of 64 KiB from its first mebibyte. Otherwise, and where
   *   neither codec is there, content is stored as it is.
   *
   * Memory is some 50 MiB more with zstd, and with lz4 a few hundred (docs/decisions/0010). A codec
   * that is missing is `usage`, before anything is read.
   */
  readonly compression?: Compression | undefined;
  /**
   * 32 random bytes shared by those who deduplicate together: equal content then gives equal
   * blobs, which the store can see (docs/threat-model.md). Where the store attests SHA-256, each
   * blob is looked at first, and not uploaded again if it was received with the right bytes. That
   * does not mend a blob that has rotted since: `delete` it before.
   */
  readonly dedupSecret?: Uint8Array | undefined;
  /**
   * Chunks in flight at once, 1 to 64, by default 4. Memory is about
   * concurrency × chunk size × 3.
   */
  readonly concurrency?: number | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Content handled so far. Of a put, `bytes` counts what the caller gave, before compression: as far
 * as it was read for the chunks that are stored. Of a get, it counts content as it is stored: before
 * decoding, where it is encoded. `total` counts the same, and is there where it is known
 * beforehand; `chunks` counts leaves, 0 for inline content.
 */
export interface Progress {
  readonly bytes: number;
  readonly total?: number;
  readonly chunks: number;
}

export interface ReadOptions extends CallOptions {
  /** Instead of the store's. */
  readonly identities?: readonly Identity[] | undefined;
}

export interface StoreOptions extends WriteOptions {
  readonly backend: Backend;
  /** Who can read what `put` writes, unless it says otherwise. */
  readonly recipients?: readonly string[] | undefined;
  /** Tried in order when a blob is opened. */
  readonly identities?: readonly Identity[] | undefined;
  /** Which NaCl to use; by default the native one where it loads. */
  readonly nacl?: NaClChoice | NaCl | undefined;
  /**
   * Threads that seal and open the chunks of content of 32 MiB and more, 0 to 64; by default one
   * for each core, at most 8, and none on a single core. 0 keeps all work in this thread, and so
   * does a `nacl` of the caller's own. They start with the first such content, end with `close`,
   * and do not keep the process alive. Each may hold two more chunks in memory. A get opens as many
   * chunks at once as it fetches: to occupy more than four threads, raise `concurrency`.
   */
  readonly workers?: number | undefined;
}
