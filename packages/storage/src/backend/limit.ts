import pLimit from "p-limit";
import { usage } from "../errors.ts";
import { inTurn } from "../queue.ts";
import type { Backend } from "./backend.ts";
import { wrapBackend } from "./wrap.ts";

/**
 * A backend with at most `inFlight` concurrent calls, shared by all stores and operations that use
 * it. Further calls are queued in order, and a signal removes a call from the queue.
 *
 * A listing occupies a slot only while its consumer waits for the next blob, so that the consumer can
 * make other calls meanwhile. A page that a backend fetches ahead of that is not counted.
 *
 * @throws StorageError `usage`
 */
export function withLimit(backend: Backend, inFlight: number): Backend {
  if (!Number.isInteger(inFlight) || inFlight < 1) {
    throw usage("the number of calls in flight must be an integer, 1 or more");
  }
  const limit = pLimit(inFlight);

  // Once a call has begun, the signal is left to the backend, which borrows the buffers until it settles.
  const queued = <T>(call: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> =>
    inTurn(limit, call, signal);

  async function* list<T>(
    entries: AsyncIterable<T>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<T> {
    const iterator = entries[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await queued(() => iterator.next(), signal);
        if (next.done) return;
        yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  }

  return wrapBackend(backend, {
    put: (put) => (name, bytes, given) => queued(() => put(name, bytes, given), given?.signal),
    get: (get) => (name, buffer, given) => queued(() => get(name, buffer, given), given?.signal),
    getRange: (getRange) => (name, offset, buffer, given) =>
      queued(() => getRange(name, offset, buffer, given), given?.signal),
    head: (head) => (name, given) => queued(() => head(name, given), given?.signal),
    delete: (remove) => (name, given) => queued(() => remove(name, given), given?.signal),
    list: (listAll) => (prefix, given) => list(listAll(prefix, given), given?.signal),
    listAfter: (listAfter) => (prefix, after, given) =>
      list(listAfter(prefix, after, given), given?.signal),
    capabilities: (capabilities) => (given) => queued(() => capabilities(given), given?.signal),
    putMarker: (putMarker) => (name, given) => queued(() => putMarker(name, given), given?.signal),
    listMarkers: (listMarkers) => (prefix, given) =>
      list(listMarkers(prefix, given), given?.signal),
    deleteMarker: (deleteMarker) => (name, given) =>
      queued(() => deleteMarker(name, given), given?.signal),
    currentTime: (currentTime) => (given) => queued(() => currentTime(given), given?.signal),
  });
}
