import { linkedAbort, throwIfAborted, untilAborted } from "../abort.ts";
import { usage } from "../errors.ts";
import { pMapIterable } from "p-map";
import { typeName } from "../bytes.ts";

/** Items to process, available now or arriving later. */
export type Items<T> = Iterable<T> | AsyncIterable<T>;

export interface ManyOptions {
  /** The most items pulled whose results have not been taken yet. */
  readonly concurrency: number;
  readonly signal: AbortSignal | undefined;
}

/** The default concurrency for items: enough to hide a server's latency. */
export const MANY_CONCURRENCY = 16;

/**
 * Processes items concurrently and yields each result as it completes. Items are pulled only if
 * there is room for their results, so that a slow consumer slows the work down. If the items
 * themselves throw, the results of those already started are yielded first, then the error.
 *
 * @param work gets a signal that fires with the caller's, and when the loop is left early. If it
 *   throws, everything ends
 * @throws StorageError `usage`, `aborted`
 */
export async function* inCompletionOrder<T, R>(
  items: Items<T>,
  work: (item: T, signal: AbortSignal) => Promise<R>,
  options: ManyOptions,
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
  const start = async (item: T): Promise<R> => {
    const working = work(item, signal);
    inFlight.add(working);
    try {
      return await working;
    } finally {
      inFlight.delete(working);
    }
  };

  try {
    const { concurrency } = options;
    // p-map's result type only adds promises, which a result here never is.
    const results = pMapIterable(pull(), start, {
      concurrency,
      preserveOrder: false,
    }) as AsyncIterable<R>;
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
