export interface ProxiedRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

export interface ProxyRules {
  /** Responds instead of the server. */
  readonly respond?: (request: ProxiedRequest) => Response | undefined;
  /** Changes the body of a response in place; its length must stay. */
  readonly tamper?: (request: ProxiedRequest, body: Uint8Array<ArrayBuffer>) => void;
}

export interface HttpProxy extends Disposable {
  readonly endpoint: string;
  /** Requests received, by method. */
  readonly counts: ReadonlyMap<string, number>;
  /** Requests received of one method. */
  count(method: string): number;
  /** Waits for requests still being forwarded for clients that have disconnected. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * A reverse proxy. It keeps the Host header of a request, which S3 signatures cover, so that they
 * stay valid. Bodies are buffered whole because a blob is small.
 */
export function httpProxy(upstream: string, rules: ProxyRules = {}): HttpProxy {
  const counts = new Map<string, number>();
  const forwarding = new Set<Promise<unknown>>();
  const tracked = async <T>(work: Promise<T>): Promise<T> => {
    forwarding.add(work);
    return work.finally(() => forwarding.delete(work));
  };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    // Above the largest blob.
    maxRequestBodySize: 64 * 1024 * 1024,
    idleTimeout: 120,
    async fetch(request) {
      counts.set(request.method, (counts.get(request.method) ?? 0) + 1);
      const url = new URL(request.url);
      const received: ProxiedRequest = {
        method: request.method,
        url,
        headers: request.headers,
        body: await request.bytes(),
      };
      return rules.respond?.(received) ?? tracked(forward(upstream, received, rules));
    },
  });
  return {
    endpoint: `http://127.0.0.1:${server.port}`,
    counts,
    count: (method) => counts.get(method) ?? 0,
    async idle() {
      await Promise.allSettled(forwarding);
    },
    stop: () => server.stop(true),
    [Symbol.dispose]() {
      void server.stop(true);
    },
  };
}

async function forward(
  upstream: string,
  request: ProxiedRequest,
  rules: ProxyRules,
): Promise<Response> {
  const { method, url, body } = request;
  const headers = new Headers(request.headers);
  // Expect is hop-by-hop, and the whole body is already here.
  headers.delete("expect");
  const response = await fetch(`${upstream}${url.pathname}${url.search}`, {
    method,
    headers,
    decompress: false,
    redirect: "manual",
    ...(body.length > 0 || method === "PUT" || method === "POST" ? { body } : {}),
  });
  if (method === "HEAD") {
    return new Response(null, { status: response.status, headers: response.headers });
  }
  const bytes = await response.bytes();
  rules.tamper?.(request, bytes);
  return new Response(bytes.length === 0 ? null : bytes, {
    status: response.status,
    headers: response.headers,
  });
}
