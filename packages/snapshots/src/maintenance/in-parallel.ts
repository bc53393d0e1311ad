/**
 * Does the work for each item, some at once. Once it has settled, nothing is in flight any more.
 *
 * @param concurrency how many at once, 1 or more
 * @throws the first error of the work or the items; what is in flight then is finished, and nothing begun
 */
export async function inParallel<T>(
  items: Iterable<T> | AsyncIterable<T>,
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const inFlight = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  const start = async (item: T): Promise<void> => {
    try {
      await work(item);
    } catch (error) {
      failure ??= { error };
    }
  };
  try {
    for await (const item of items) {
      if (failure !== undefined) break;
      const running: Promise<void> = start(item).finally(() => inFlight.delete(running));
      inFlight.add(running);
      if (inFlight.size >= concurrency) await Promise.race(inFlight);
    }
  } finally {
    await Promise.all(inFlight);
  }
  if (failure !== undefined) throw failure.error;
}
