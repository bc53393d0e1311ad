import type { Backend } from "@idk/storage";

type Method = (typeof METHODS)[number];

/** Requests so far by method, and the bytes of their bodies. */
export type Tally = Record<Method | "bytesSent" | "bytesReceived", number>;

export function newTally(): Tally {
  return { GET: 0, PUT: 0, HEAD: 0, POST: 0, DELETE: 0, bytesSent: 0, bytesReceived: 0 };
}

const METHODS = ["GET", "PUT", "HEAD", "POST", "DELETE"] as const;

export function requestsOf(tally: Tally): number {
  return METHODS.reduce((sum, method) => sum + tally[method], 0);
}

const METHOD_OF: Readonly<Partial<Record<string, Method>>> = {
  put: "PUT",
  get: "GET",
  getRange: "GET",
  head: "HEAD",
  delete: "DELETE",
  list: "GET",
  listAfter: "GET",
  capabilities: "HEAD",
  putMarker: "PUT",
  listMarkers: "GET",
  deleteMarker: "DELETE",
  currentTime: "HEAD",
};

/**
 * Wraps a backend and counts its calls as the requests that they would be. A listing is one, regardless
 * of its length. To count actual requests, use `countingProxy`.
 */
export function countingBackend(backend: Backend, tally: Tally): Backend {
  const counted = Object.entries(backend).map(([name, member]: [string, unknown]) => {
    const method = METHOD_OF[name];
    if (typeof member !== "function" || method === undefined) return [name, member];
    const call = (...given: unknown[]): unknown => {
      tally[method] += 1;
      if (name === "put") tally.bytesSent += (given[1] as Uint8Array).length;
      const result: unknown = Reflect.apply(member, backend, given);
      return name === "get" || name === "getRange" ? received(result as Promise<number>) : result;
    };
    return [name, call];
  });
  const received = async (result: Promise<number>): Promise<number> => {
    const length = await result;
    tally.bytesReceived += length;
    return length;
  };
  return Object.fromEntries(counted) as Backend;
}

/**
 * An HTTP proxy in front of an object store that counts actual requests, including retries. It forwards
 * the Host header unchanged, because request signatures cover it.
 */
export function countingProxy(
  upstream: string,
  tally: Tally,
): AsyncDisposable & { readonly endpoint: string } {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    // Larger than the largest blob.
    maxRequestBodySize: 64 * 2 ** 20,
    idleTimeout: 120,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const body = await request.bytes();
      const method = request.method as Method;
      tally[method] += 1;
      tally.bytesSent += body.length;
      const headers = new Headers(request.headers);
      // Expect applies to the client connection only, and the body has already arrived.
      headers.delete("expect");
      const response = await fetch(`${upstream}${pathname}${search}`, {
        method,
        headers,
        decompress: false,
        redirect: "manual",
        ...((method === "PUT" || method === "POST") && { body }),
      });
      const { status } = response;
      if (method === "HEAD") return new Response(null, { status, headers: response.headers });
      const bytes = await response.bytes();
      tally.bytesReceived += bytes.length;
      return new Response(bytes.length > 0 ? bytes : null, { status, headers: response.headers });
    },
  });
  return {
    endpoint: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
