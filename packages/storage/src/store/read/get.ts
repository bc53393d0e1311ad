import type { CallOptions, Progress, ReadOptions } from "../options.ts";
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
  /** The most chunks fetched concurrently and ahead, 1 to 64; by default the store's. */
  readonly concurrency?: number | undefined;
  /** Called after each chunk is opened, and for inline content once. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/**
 * Fetches and opens a root; see `Store.get`.
 *
 * @param root how to fetch the root; later reads use the options' signal and the context's backend
 */
export async function get(
  context: StoreContext,
  address: string,
  options: GetOptions,
  root: Pick<StoreContext, "backend"> & CallOptions = {
    backend: context.backend,
    signal: options.signal,
  },
): Promise<StoredContent> {
  assertOptions(options);
  throwIfAborted(options.signal);
  const concurrency = checkConcurrency(options.concurrency) ?? context.defaults.concurrency;
  const borrow = (signal: AbortSignal | undefined, backend = context.backend) =>
    borrowRoot({ ...context, backend }, address, { ...options, signal });
  const opened = contentOf(context, await borrow(root.signal, root.backend), borrow);
  return createStoredContent(opened.root, opened.content, {
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
