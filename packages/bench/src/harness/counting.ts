import { type Backend, wrapBackend } from "@idk/storage";

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
  const counted =
    <Call extends readonly unknown[], Result>(method: (...call: Call) => Result) =>
    (...call: Call): Result => {
      requests++;
      return method(...call);
    };
  const received =
    <Call extends readonly unknown[]>(read: (...call: Call) => Promise<number>) =>
    async (...call: Call): Promise<number> => {
      requests++;
      const length = await read(...call);
      bytesReceived += length;
      return length;
    };
  const backend = wrapBackend(inner, {
    put:
      (put) =>
      async (name, bytes, ...rest) => {
        requests++;
        bytesSent += bytes.length;
        await put(name, bytes, ...rest);
      },
    get: received,
    getPrefix: received,
    head: counted,
    delete: counted,
    list: counted,
    listAfter: counted,
    capabilities: counted,
  });
  return { backend, counts: () => ({ requests, bytesSent, bytesReceived }) };
}
