import type { Progress, ReadOptions } from "../options.ts";
import { type ContentReader, inlineContent, treeContent } from "./content-reader.ts";
import { type OpenedRoot, borrowRoot, keepRoot } from "./read-root.ts";
import { assertOptions, checkConcurrency } from "../check-options.ts";
import type { StoreContext } from "../context.ts";
import { type StoredContent, createStoredContent } from "./stored-content.ts";
import { linkedAbort, throwIfAborted } from "../../abort.ts";

export interface GetOptions extends ReadOptions {
  /** Bytes of the content to read: start inclusive, end exclusive, both within the content. */
  readonly range?:
    | { readonly start?: number | undefined; readonly end?: number | undefined }
    | undefined;
  /** Chunks fetched concurrently and ahead, 1 to 64; by default the store's. */
  readonly concurrency?: number | undefined;
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
  const { root, content } = await fetchRoot(context, address, options, rootSignal);
  return createStoredContent(root, content, {
    range: options.range,
    startReading() {
      const { signal, stop } = linkedAbort(options.signal);
      return { signal, stop, concurrency, onProgress: options.onProgress };
    },
  });
}

async function fetchRoot(
  context: StoreContext,
  address: string,
  options: GetOptions,
  rootSignal: AbortSignal | undefined,
): Promise<{ root: OpenedRoot; content: ContentReader }> {
  const borrowed = await borrowRoot(context, address, { ...options, signal: rootSignal });
  if (borrowed.root.shape.depth > 0) {
    const root = keepRoot(borrowed);
    return { root, content: treeContent(context, root) };
  }
  if (borrowed.root.body.length <= KEPT_MAX) {
    const root = keepRoot(borrowed);
    const kept = { root, release() {} };
    return { root, content: inlineContent(kept, async () => kept) };
  }
  const again = (signal: AbortSignal) => borrowRoot(context, address, { ...options, signal });
  return { root: borrowed.root, content: inlineContent(borrowed, again) };
}

/**
 * Inline content up to this many bytes is copied out of the buffer it was opened in, so that the
 * handle keeps less memory alive than the buffer's two megabytes, and the buffer is free at once.
 */
const KEPT_MAX = 64 * 1024;
