import type { Backend, CallOptions } from "../../backend/backend.ts";
import { CHUNKS_AT_ONCE, ITEMS_AT_ONCE, SHORT_BLOB, checkConcurrency } from "../check-options.ts";
import { type MemoryBudget, budgetOf } from "./budget.ts";
import { type Gate, createBlobGate, createGate } from "./gate.ts";
import { type Measuring, measuredReads } from "./measuring.ts";
import { CALLS_MAX } from "./controller.ts";
import { CALL_MEMORY } from "./window.ts";

/** Options of `parallelRequests`, `parallelBlobs` and `shortBlobGate`. */
export interface ParallelOptions {
  /** The most items in flight, 1 to 64, by default 64. */
  readonly concurrency?: number | undefined;
  /** As for `createStore`: bytes, or a budget; by default that of all stores of the process. */
  readonly memory?: number | MemoryBudget | undefined;
}

/**
 * Works on many items at once: as many as complete fastest, at first four, and fewer while the store
 * refuses; see `createController`. What one call has learned, the next one begins with.
 *
 * @typeParam Tool what the work has to use for its requests: that is what is measured
 */
export interface Parallel<Tool, Item> {
  /**
   * Does the work for each item, in any order. Once it has settled, nothing is in flight any more.
   *
   * @param work of `parallelBlobs` has memory for a blob of `size`, or of any size if that is undefined. If the
   *   blob is longer, and it fails with `limit`, it is called again for any size
   * @throws the first error of the work or the items: what is in flight then is finished, and nothing else
   *   begun; StorageError `aborted`
   */
  each<T extends Item>(
    items: Iterable<T> | AsyncIterable<T>,
    work: (item: T, tool: Tool, size: number | undefined) => Promise<unknown>,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<void>;
}

/** As `Parallel`. A caller may also make single requests, at the same time. */
export interface ParallelRequests extends Parallel<CallOptions, unknown> {
  /** @throws StorageError `aborted`, and what the request throws */
  one<T>(
    request: (given: CallOptions) => Promise<T>,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<T>;
}

/**
 * For requests that transfer next to nothing, such as `head` and `delete`. The work is given what to pass
 * to each of them. It is measured as a whole: it has to make a request, and to throw if that fails.
 *
 * @throws StorageError `usage`
 */
export function parallelRequests(options: ParallelOptions = {}): ParallelRequests {
  const most = checkConcurrency(options.concurrency) ?? CALLS_MAX;
  const limits = { most, itemBytes: CALL_MEMORY };
  const toolOf = (measuring: Measuring) => measuring;
  const gate = createGate(toolOf, budgetOf(options.memory), CHUNKS_AT_ONCE, limits);
  const nothing = (): number => 0;
  return {
    each: (items, work, { signal } = {}) =>
      inParallel(items, most, (item, isWanted) =>
        gate.pass(
          async ({ measure, retry }) => {
            const given = { signal, onRetry: retry };
            if (isWanted()) await measure(() => work(item, given, undefined), nothing);
          },
          { signal },
        ),
      ),
    one: (request, { signal } = {}) =>
      gate.pass(
        ({ measure, retry }) => measure(() => request({ signal, onRetry: retry }), nothing),
        { signal },
      ),
  };
}

/** A blob, as a listing has it. */
export interface SizedItem {
  /** Bytes, if they are known: how many of them may be in flight follows from it. */
  readonly size?: number | undefined;
}

/**
 * For blobs that are fetched as a whole, from the backend that the work is given.
 *
 * @throws StorageError `usage`
 */
export function parallelBlobs(
  backend: Backend,
  options: ParallelOptions = {},
): Parallel<Backend, SizedItem> {
  const most = checkConcurrency(options.concurrency) ?? CALLS_MAX;
  const toolOf = (measuring: Measuring) => measuredReads(backend, measuring, (length) => length);
  const gate = createBlobGate(toolOf, budgetOf(options.memory), most);
  return {
    each: (items, work, { signal } = {}) =>
      inParallel(items, most, (item, isWanted) =>
        gate.pass(
          async (tool, size) => {
            if (isWanted()) await work(item, tool, size);
          },
          { signal, size: item.size },
        ),
      ),
  };
}

/**
 * For short blobs that the caller reads one by one and at the same time, in its own order: at first 24 of them
 * are in flight. Each read uses the backend that it is given.
 *
 * @throws StorageError `usage`
 */
export function shortBlobGate(backend: Backend, options: ParallelOptions = {}): Gate {
  const most = checkConcurrency(options.concurrency) ?? CALLS_MAX;
  const toolOf = (measuring: Measuring) => measuredReads(backend, measuring);
  const limits = { most, itemBytes: CALL_MEMORY + 4 * SHORT_BLOB };
  return createGate(toolOf, budgetOf(options.memory), ITEMS_AT_ONCE, limits);
}

/**
 * Does the work for each item, some at once. Once it has settled, nothing is in flight any more.
 *
 * @param atOnce 1 or more
 * @param work is told whether it is still wanted, which it is not after a failure
 * @throws the first error of the work or the items; what is in flight then is finished, and nothing begun
 */
export async function inParallel<T>(
  items: Iterable<T> | AsyncIterable<T>,
  atOnce: number,
  work: (item: T, isWanted: () => boolean) => Promise<unknown>,
): Promise<void> {
  const inFlight = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  const isWanted = (): boolean => failure === undefined;
  const fail = (error: unknown): void => {
    failure ??= { error };
  };
  const start = async (item: T): Promise<void> => {
    try {
      await work(item, isWanted);
    } catch (error) {
      fail(error);
    }
  };
  try {
    for await (const item of items) {
      if (failure !== undefined) break;
      const running: Promise<void> = start(item).finally(() => inFlight.delete(running));
      inFlight.add(running);
      if (inFlight.size >= atOnce) await Promise.race(inFlight);
    }
  } catch (error) {
    fail(error);
  }
  await Promise.all(inFlight);
  if (failure !== undefined) throw failure.error;
}

/**
 * Waits for both, also if one fails, so that none of their requests is left behind.
 *
 * @throws what the first one throws, otherwise what the second one throws
 */
export async function bothOf<A, B>(a: A, b: B): Promise<[Awaited<A>, Awaited<B>]> {
  const [first, second] = await Promise.allSettled([a, b]);
  if (first.status === "rejected") throw first.reason;
  if (second.status === "rejected") throw second.reason;
  return [first.value, second.value];
}
