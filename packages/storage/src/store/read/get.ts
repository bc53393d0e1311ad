import type { Progress, ReadOptions } from "../options.ts";
import { type ContentReader, inlineContent, treeContent } from "./content-reader.ts";
import { type BorrowedRoot, type OpenedRoot, borrowRoot, copyAndRelease } from "./read-root.ts";
import { assertOptions, checkConcurrency } from "../check-options.ts";
import type { StoreContext } from "../context.ts";
import { type ContentRange, type StoredContent, createStoredContent } from "./stored-content.ts";
import { linkedAbort, throwIfAborted } from "../../abort.ts";

/** Options of `get`. */
export interface GetOptions extends ReadOptions {
  /**
   * Bytes of the content to read: start inclusive, end exclusive, both within the content. A function
   * makes them of the content's size in bytes, for the last bytes, or for at most as many as there are.
   */
  readonly range?: ContentRange | ((size: number) => ContentRange) | undefined;
  /** Chunks fetched concurrently and ahead, 1 to 64; by default the store's. */
  readonly concurrency?: number | undefined;
  /** Called after each chunk is opened, and for inline content once. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/**
 * Fetches and opens a root; see `Store.get`.
 *
 * @param rootSignal aborts fetching the root; later reads use the options' signal
 */
export async function get(
  context: StoreContext,
  address: string,
  options: GetOptions,
  rootSignal: AbortSignal | undefined = options.signal,
): Promise<StoredContent> {
  assertOptions(options);
  throwIfAborted(options.signal);
  const concurrency = checkConcurrency(context.defaults, options.concurrency);
  const borrow = (signal: AbortSignal | undefined) =>
    borrowRoot(context, address, { ...options, signal });
  const { root, content } = contentOf(context, await borrow(rootSignal), borrow);
  return createStoredContent(root, content, {
    range: options.range,
    startReading() {
      const linked = linkedAbort(options.signal);
      return { ...linked, concurrency, onProgress: options.onProgress };
    },
  });
}

/** @param borrowAgain fetches the root again, for inline content that is read more than once */
function contentOf(
  context: StoreContext,
  borrowed: BorrowedRoot,
  borrowAgain: (signal: AbortSignal) => Promise<BorrowedRoot>,
): { root: OpenedRoot; content: ContentReader } {
  const { shape, body } = borrowed.root;
  if (shape.depth > 0) {
    const root = copyAndRelease(borrowed);
    return { root, content: treeContent(context, root) };
  }
  if (body.length <= KEPT_MAX) {
    const kept = { root: copyAndRelease(borrowed), release() {} };
    return { root: kept.root, content: inlineContent(kept, async () => kept) };
  }
  return { root: borrowed.root, content: inlineContent(borrowed, borrowAgain) };
}

/**
 * Inline content up to this many bytes is copied out of the buffer it was opened in, so that the
 * handle keeps less memory alive than the buffer's two megabytes, and the buffer is free at once.
 */
const KEPT_MAX = 64 * 1024;
