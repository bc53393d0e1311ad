import { linkedAbort, throwIfAborted, untilAborted } from "../abort.ts";
import { usage } from "../errors.ts";
import { pMapIterable } from "p-map";
import { typeName } from "../bytes.ts";

/** Things to work on, at hand or still to come. */
export type Items<T> = Iterable<T> | AsyncIterable<T>;

export interface ManyOptions {
  /** Items pulled and not yet handed on as results, at most. */
  readonly concurrency: number;
  readonly signal: AbortSignal | undefined;
}

/** What is worked on at once where the caller does not say: enough to hide a store's latency. */
export const MANY_CONCURRENCY = 16;

/**
 * Works on several items at once, and hands on each result as it comes. Items are pulled only where
 * there is room for their results, so that a slow consumer holds up the work. Once the items fail,
 * what was begun still comes, and then their error.
 *
 * @param work is given a signal that fires with the caller's, and when the results are left early.
 *   An error of its own ends everything
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
      // Items that never answer must not hold the caller up, and their complaint comes too late.
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
    // What is worked out here is no promise itself, which is all that its own type leaves open.
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
        // First, because the pipeline only ends once what it waits for has.
        if (left) stop();
      }
    }
    throwIfAborted(options.signal);
    if (failure !== undefined) throw failure.error;
  } finally {
    stop();
    // When this ends nothing is being read or written any more.
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

/** An item that failed, with what `put` or `get` threw. */
export interface FailedItem<Key> {
  readonly ok: false;
  readonly key: Key;
  readonly error: unknown;
}
