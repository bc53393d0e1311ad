/** A request as it passes, with its whole body. */
export interface Passing {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

export interface FrontRules {
  /** Answers in the server's place. */
  readonly answer?: (request: Passing) => Response | undefined;
  /** Changes the body of an answer; its length must stay. */
  readonly tamper?: (request: Passing, body: Uint8Array<ArrayBuffer>) => void;
}

export interface HttpFront extends Disposable {
  readonly endpoint: string;
  /** Requests that came in, by method. */
  readonly counts: ReadonlyMap<string, number>;
  /** Requests of a method that came in. */
  count(method: string): number;
  /** Waits for what is still being passed on for clients who are gone. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * An HTTP server before another. It passes requests on with their own Host, which S3 signatures
 * cover, so that they stay valid. Bodies are held whole: a blob is small.
 */
export function httpFront(upstream: string, rules: FrontRules = {}): HttpFront {
  const counts = new Map<string, number>();
  const passing = new Set<Promise<unknown>>();
  const tracked = async <T>(work: Promise<T>): Promise<T> => {
    passing.add(work);
    return work.finally(() => passing.delete(work));
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
      const received: Passing = {
        method: request.method,
        url,
        headers: request.headers,
        body: await request.bytes(),
      };
      return rules.answer?.(received) ?? tracked(passOn(upstream, received, rules));
    },
  });
  return {
    endpoint: `http://127.0.0.1:${server.port}`,
    counts,
    count: (method) => counts.get(method) ?? 0,
    async idle() {
      await Promise.allSettled(passing);
    },
    stop: () => server.stop(true),
    [Symbol.dispose]() {
      void server.stop(true);
    },
  };
}

async function passOn(upstream: string, request: Passing, rules: FrontRules): Promise<Response> {
  const { method, url, body } = request;
  const headers = new Headers(request.headers);
  // It belongs to this connection; the whole body is here already.
  headers.delete("expect");
  const answer = await fetch(`${upstream}${url.pathname}${url.search}`, {
    method,
    headers,
    decompress: false,
    redirect: "manual",
    ...(body.length > 0 || method === "PUT" || method === "POST" ? { body } : {}),
  });
  if (method === "HEAD") {
    return new Response(null, { status: answer.status, headers: answer.headers });
  }
  const bytes = await answer.bytes();
  rules.tamper?.(request, bytes);
  return new Response(bytes.length === 0 ? null : bytes, {
    status: answer.status,
    headers: answer.headers,
  });
}
