import type { Backend, PutCallOptions } from "../../src/index.ts";
import { memory } from "../../src/backend/memory.ts";

export interface Watched {
  readonly backend: Backend;
  /** The names passed to each call, in order. */
  readonly calls: Record<"put" | "get" | "head", string[]>;
  /** The options of the puts, in order. */
  readonly options: (PutCallOptions | undefined)[];
  /** Calls in flight now, and the most there were at once. */
  readonly seen: { inFlight: number; most: number };
  forget(): void;
}

/**
 * A backend that waits before each call, as a network would. It records the calls, and how many of
 * them were in flight at once.
 */
export function watched(inner: Backend = memory(), ms: number = 1): Watched {
  const calls: Watched["calls"] = { put: [], get: [], head: [] };
  const options: Watched["options"] = [];
  const seen = { inFlight: 0, most: 0 };
  const watch = async <T>(call: () => Promise<T>): Promise<T> => {
    seen.inFlight += 1;
    seen.most = Math.max(seen.most, seen.inFlight);
    try {
      await Bun.sleep(ms);
      return await call();
    } finally {
      seen.inFlight -= 1;
    }
  };
  const backend: Backend = {
    ...inner,
    put: async (...given) => {
      calls.put.push(given[0]);
      options.push(given[2]);
      return watch(async () => inner.put(...given));
    },
    get: async (...given) => {
      calls.get.push(given[0]);
      return watch(async () => inner.get(...given));
    },
    head: async (...given) => {
      calls.head.push(given[0]);
      return watch(async () => inner.head(...given));
    },
  };
  const forget = (): void => {
    for (const names of Object.values(calls)) names.length = 0;
    seen.most = 0;
  };
  return { backend, calls, options, seen, forget };
}

/** The whole stored blob. */
export async function bytesOf(backend: Backend, name: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array((await backend.head(name))!.size);
  await backend.get(name, bytes);
  return bytes;
}
