import type { Backend } from "@idk/storage";

/** Requests so far, and the bytes of their bodies. */
export interface Tally {
  requests: number;
  bytesSent: number;
  bytesReceived: number;
}

/**
 * Wraps a backend and counts its calls. A listing is one call, regardless of its length. To count actual
 * network requests, use `countingProxy`.
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
  const { getRange, listAfter, capabilities } = backend;
  return {
    ...backend,
    async put(name, bytes, options) {
      tally.requests += 1;
      tally.bytesSent += bytes.length;
      await backend.put(name, bytes, options);
    },
    get: received(backend.get),
    ...(getRange && { getRange: received(getRange) }),
    head: counted(backend.head),
    delete: counted(backend.delete),
    list: counted(backend.list),
    ...(listAfter && { listAfter: counted(listAfter) }),
    ...(capabilities && { capabilities: counted(capabilities) }),
  };
}

export interface CountingProxy extends AsyncDisposable {
  /** Replaces the endpoint of the store. */
  readonly endpoint: string;
}

/** Larger than the largest blob. */
const BODY_MAX = 64 * 2 ** 20;

/**
 * An HTTP proxy in front of an object store that counts actual requests, including retries. It forwards
 * the Host header unchanged, because request signatures cover it.
 */
export function countingProxy(upstream: string, tally: Tally): CountingProxy {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    maxRequestBodySize: BODY_MAX,
    idleTimeout: 120,
    async fetch(request) {
      const { method } = request;
      const { pathname, search } = new URL(request.url);
      const body = await request.bytes();
      tally.requests += 1;
      tally.bytesSent += body.length;
      const headers = new Headers(request.headers);
      // Expect applies to the client connection only, and the body has already arrived.
      headers.delete("expect");
      const response = await fetch(`${upstream}${pathname}${search}`, {
        method,
        headers,
        decompress: false,
        redirect: "manual",
        ...(method === "PUT" || method === "POST" ? { body } : {}),
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
