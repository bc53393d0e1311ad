import { linkedAbort, throwIfAborted, untilAborted } from "../abort.ts";
import { CALLS_MAX } from "./flow/controller.ts";
import type { Flow } from "./flow/flow.ts";
import { INLINE_MAX } from "../format/limits.ts";
import { usage } from "../errors.ts";
import { typeName } from "../bytes.ts";

/** Items to process, available now or arriving later. */
export type Items<T> = Iterable<T> | AsyncIterable<T>;

export interface ManyOptions<Tool> {
  /** How many items are pulled whose results have not been taken yet. */
  readonly flow: Flow<Tool>;
  /** The most of them, if the caller has set it. */
  readonly concurrency: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Bytes of memory for an item, at most: content of up to 1 MiB, and its root. */
const ITEM_MEMORY = 2 * INLINE_MAX;

/**
 * Processes items concurrently and yields each result as it completes. Items are pulled only if
 * there is room for their results, so that a slow consumer slows the work down. If the items
 * themselves throw, the results of those already started are yielded first, then the error.
 *
 * @param work gets a signal that fires with the caller's, and when the loop is left early, and the
 *   tool to use; see `Flow.map`. If it throws, everything ends
 * @throws StorageError `usage`, `aborted`
 */
export async function* inCompletionOrder<T, R, Tool>(
  items: Items<T>,
  work: (item: T, signal: AbortSignal, tool: Tool) => Promise<R>,
  options: ManyOptions<Tool>,
): AsyncGenerator<R> {
  throwIfAborted(options.signal);
  const iterator = iteratorOf(items);
  const { signal, stop } = linkedAbort(options.signal);
  let failure: { error: unknown } | undefined;
  const inFlight = new Set<Promise<R>>();

  async function* pull(): AsyncGenerator<T> {
    let left = true;
    try {
      for (;;) {
        const next = iterator.next();
        const { done, value } =
          "then" in next ? await untilAborted(Promise.resolve(next), signal) : next;
        left = !done;
        if (done) return;
        yield value;
      }
    } catch (error) {
      failure = { error };
      left = signal.aborted;
    } finally {
      // Not awaited: the items' iterator may never respond. An error from it comes too late to matter.
      const end = async () => iterator.return?.();
      if (left) end().catch(() => {});
    }
  }
  const start = async (item: T, tool: Tool): Promise<R> => {
    const working = work(item, signal, tool);
    inFlight.add(working);
    try {
      return await working;
    } finally {
      inFlight.delete(working);
    }
  };

  try {
    const { flow, concurrency = CALLS_MAX } = options;
    const results = flow.map(pull(), start, {
      most: concurrency,
      itemBytes: ITEM_MEMORY,
      varies: true,
      signal,
      preserveOrder: false,
    });
    for await (const result of results) {
      let left = true;
      try {
        yield result;
        left = false;
      } finally {
        // First, because the pipeline ends only after what it awaits has ended.
        if (left) stop();
      }
    }
    throwIfAborted(options.signal);
    if (failure !== undefined) throw failure.error;
  } finally {
    stop();
    // Nothing is being read or written once this returns.
    await Promise.allSettled(inFlight);
  }
}

function iteratorOf<T>(items: Items<T>): Iterator<T> | AsyncIterator<T> {
  if (typeof items === "object" && items !== null) {
    if (Symbol.asyncIterator in items) return items[Symbol.asyncIterator]();
    if (Symbol.iterator in items) return items[Symbol.iterator]();
  }
  throw usage(`items must be an iterable or an async iterable, got ${typeName(items)}`);
}

/** An item that failed, with the error that `put` or `get` threw. */
export interface FailedItem<Key> {
  readonly ok: false;
  readonly key: Key;
  readonly error: unknown;
}
