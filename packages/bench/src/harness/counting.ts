import type { Backend } from "@idk/storage";

/** What has gone between a store and its backend so far. */
export interface Counts {
  /** Calls of the backend; a listing is one. */
  readonly requests: number;
  /** Bytes of blobs. */
  readonly bytesSent: number;
  readonly bytesReceived: number;
}

export interface CountingBackend {
  readonly backend: Backend;
  counts(): Counts;
}

/** A backend that counts what it is asked for. Calls count when they are made, bytes when they came. */
export function counting(inner: Backend): CountingBackend {
  let [requests, bytesSent, bytesReceived] = [0, 0, 0];
  const backend: Backend = {
    description: inner.description,
    ...(inner.local !== undefined && { local: inner.local }),
    async put(name, bytes, options) {
      requests++;
      bytesSent += bytes.length;
      await inner.put(name, bytes, options);
    },
    async get(name, buffer, options) {
      requests++;
      const length = await inner.get(name, buffer, options);
      bytesReceived += length;
      return length;
    },
    head(name, options) {
      requests++;
      return inner.head(name, options);
    },
    delete(name, options) {
      requests++;
      return inner.delete(name, options);
    },
    list(prefix, options) {
      requests++;
      return inner.list(prefix, options);
    },
    ...(inner.listAfter && {
      listAfter: (...call: Parameters<NonNullable<Backend["listAfter"]>>) => {
        requests++;
        return inner.listAfter!(...call);
      },
    }),
    ...(inner.capabilities && {
      capabilities: (...call: Parameters<NonNullable<Backend["capabilities"]>>) => {
        requests++;
        return inner.capabilities!(...call);
      },
    }),
    ...(inner.close && { close: () => inner.close!() }),
  };
  return { backend, counts: () => ({ requests, bytesSent, bytesReceived }) };
}
