import type { Backend } from "@idk/storage";

/** Requests and the bytes of their bodies, so far. */
export interface Tally {
  requests: number;
  bytesSent: number;
  bytesReceived: number;
}

/**
 * Counts the calls of a backend: each is a request, a listing one however long it is. Where they
 * become requests of a network, `countingFront` counts those.
 *
 * It runs in the worktree of another revision, whose library may lack `wrapBackend`.
 */
export function countingBackend(backend: Backend, tally: Tally): Backend {
  const counted =
    <Call extends unknown[], Result>(method: (...call: Call) => Result) =>
    (...call: Call): Result => {
      tally.requests += 1;
      return method.apply(backend, call);
    };
  const received =
    <Call extends unknown[]>(read: (...call: Call) => Promise<number>) =>
    async (...call: Call): Promise<number> => {
      const length = await counted(read)(...call);
      tally.bytesReceived += length;
      return length;
    };
  const { getPrefix, listAfter, capabilities } = backend;
  return {
    ...backend,
    async put(name, bytes, options) {
      tally.requests += 1;
      tally.bytesSent += bytes.length;
      await backend.put(name, bytes, options);
    },
    get: received(backend.get),
    ...(getPrefix && { getPrefix: received(getPrefix) }),
    head: counted(backend.head),
    delete: counted(backend.delete),
    list: counted(backend.list),
    ...(listAfter && { listAfter: counted(listAfter) }),
    ...(capabilities && { capabilities: counted(capabilities) }),
  };
}
