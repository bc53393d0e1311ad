import type { GetOptions, ReadAt } from "./get-options.ts";

/** The content under a root, however it is kept there. */
export interface ContentReader {
  /** The content or its range in order; each piece is lent until the next is asked for. */
  pieces(range: ByteRange, reading: Reading): AsyncGenerator<Uint8Array>;
  /** Puts the range into memory of its length. */
  copyTo(result: Uint8Array<ArrayBuffer>, range: ByteRange, reading: Reading): Promise<void>;
  /** How many leading bytes the caller has already; see `StoredBlob.matchingPrefix`. */
  matchingPrefix(have: ReadAt, whole: ByteRange, reading: Reading): Promise<number>;
}

/** One pass over the content, with a switch of its own. */
export interface Reading {
  readonly concurrency: number;
  /** Fires when the caller's does, and when the reading is stopped. */
  readonly signal: AbortSignal;
  readonly stop: () => void;
  readonly onProgress: GetOptions["onProgress"];
}

/** Bytes of the content: start inclusive, end exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
  /** No end was asked for: what stands behind the content is read and checked as well. */
  readonly whole: boolean;
}
