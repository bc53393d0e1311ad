import type { Backend } from "@idk/storage";

/** Requests and the bytes of their bodies, so far. */
export interface Tally {
  requests: number;
  bytesSent: number;
  bytesReceived: number;
}

/**
 * Counts the calls of a backend: each is a request, a listing one however long it is. Where they
 * become requests of a network, `countingProxy` counts those.
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

export interface CountingProxy extends AsyncDisposable {
  /** Instead of the store's. */
  readonly endpoint: string;
}

/** Above the largest blob. */
const BODY_MAX = 64 * 2 ** 20;

/**
 * An HTTP server before an object store, which counts what really crosses the network, retries and
 * signatures' round trips included. Requests go on with their own Host, which their signature covers.
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
      // It belongs to this connection, and the whole body is here already.
      headers.delete("expect");
      const answer = await fetch(`${upstream}${pathname}${search}`, {
        method,
        headers,
        decompress: false,
        redirect: "manual",
        ...(method === "PUT" || method === "POST" ? { body } : {}),
      });
      const { status } = answer;
      if (method === "HEAD") return new Response(null, { status, headers: answer.headers });
      const bytes = await answer.bytes();
      tally.bytesReceived += bytes.length;
      return new Response(bytes.length > 0 ? bytes : null, { status, headers: answer.headers });
    },
  });
  return {
    endpoint: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
