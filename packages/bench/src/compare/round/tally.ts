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
 */
export function countingBackend(backend: Backend, tally: Tally): Backend {
  const { listAfter, capabilities, close } = backend;
  return {
    description: backend.description,
    local: backend.local,
    async put(name, bytes, options) {
      tally.requests += 1;
      tally.bytesSent += bytes.length;
      return backend.put(name, bytes, options);
    },
    async get(name, buffer, options) {
      tally.requests += 1;
      const length = await backend.get(name, buffer, options);
      tally.bytesReceived += length;
      return length;
    },
    async head(name, options) {
      tally.requests += 1;
      return backend.head(name, options);
    },
    async delete(name, options) {
      tally.requests += 1;
      return backend.delete(name, options);
    },
    list(prefix, options) {
      tally.requests += 1;
      return backend.list(prefix, options);
    },
    ...(listAfter && {
      listAfter(prefix, after, options) {
        tally.requests += 1;
        return listAfter.call(backend, prefix, after, options);
      },
    }),
    ...(capabilities && {
      async capabilities(options) {
        tally.requests += 1;
        return capabilities.call(backend, options);
      },
    }),
    ...(close && { close: () => close.call(backend) }),
  };
}
