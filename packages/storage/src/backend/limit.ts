import { aborted } from "../abort.ts";
import pLimit from "p-limit";
import type { Backend, CallOptions, ListedBlob } from "./backend.ts";
import { usage } from "../errors.ts";

/**
 * A backend that has at most so many calls in flight, whoever makes them: several stores, puts and
 * gets may share it. The others wait in the order in which they came, and a signal ends that wait.
 *
 * A listing takes a place only while it is asked for its next blob, so that whoever works through
 * one can make other calls meanwhile.
 *
 * @throws StorageError `usage`
 */
export function withLimit(backend: Backend, inFlight: number): Backend {
  if (!Number.isInteger(inFlight) || inFlight < 1) {
    throw usage("the number of calls in flight must be an integer, 1 or more");
  }
  const limit = pLimit(inFlight);

  const inTurn = <T>(call: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(aborted(signal));
        return;
      }
      let queued: typeof call | undefined = call;
      const leave = (): void => {
        // The empty turn stays in the queue, but holds on to nothing that the caller lent.
        queued = undefined;
        if (signal) reject(aborted(signal));
      };
      signal?.addEventListener("abort", leave, { once: true });
      void limit(async () => {
        signal?.removeEventListener("abort", leave);
        try {
          if (queued) resolve(await queued());
        } catch (error) {
          reject(error);
        }
      });
    });

  async function* list(
    blobs: AsyncIterable<ListedBlob>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<ListedBlob> {
    const iterator = blobs[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await inTurn(() => iterator.next(), signal);
        if (next.done) return;
        yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  }

  return {
    description: backend.description,
    ...(backend.local && { local: true }),
    put: (name, bytes, given) => inTurn(() => backend.put(name, bytes, given), given?.signal),
    get: (name, buffer, given) => inTurn(() => backend.get(name, buffer, given), given?.signal),
    ...(backend.getPrefix && {
      getPrefix: (name: string, buffer: Uint8Array, given?: CallOptions) =>
        inTurn(async () => backend.getPrefix!(name, buffer, given), given?.signal),
    }),
    head: (name, given) => inTurn(() => backend.head(name, given), given?.signal),
    delete: (name, given) => inTurn(() => backend.delete(name, given), given?.signal),
    list: (prefix, given) => list(backend.list(prefix, given), given?.signal),
    ...(backend.listAfter && {
      listAfter: (prefix: string, after: string, given?: CallOptions) =>
        list(backend.listAfter!(prefix, after, given), given?.signal),
    }),
    ...(backend.capabilities && {
      capabilities: (given?: CallOptions) =>
        inTurn(async () => backend.capabilities!(given), given?.signal),
    }),
    ...(backend.clockAheadMs && { clockAheadMs: () => backend.clockAheadMs!() }),
    ...(backend.close && { close: () => backend.close!() }),
  };
}
