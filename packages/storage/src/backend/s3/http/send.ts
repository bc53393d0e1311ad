import { StorageError, usage } from "../../../errors.ts";
import { proxyFor } from "./proxy.ts";

/** A request that failed on its way through a proxy; the reason is its cause. */
export class ProxyFailure extends Error {
  /** The proxy's host and port, without its credentials. */
  readonly proxy: string;

  constructor(proxy: string, cause: unknown) {
    super(`the proxy ${proxy} failed`, { cause });
    this.proxy = proxy;
  }
}

/**
 * As `fetch`, through the proxy that the environment names for the URL. All requests of the object
 * stores go through here: Bun's `fetch` has rules of its own for these variables, and Node's ignores
 * them.
 *
 * No request allows a compressed response, and none is read: a few kilobytes can decompress to
 * gigabytes, and Bun decompresses whatever has arrived at once.
 *
 * @throws ProxyFailure; StorageError `usage`, `unavailable`; the errors of `fetch`
 */
export async function send(url: string, init: RequestInit): Promise<Response> {
  const response = await sendThroughProxy(url, init);
  const encoding = response.headers.get("content-encoding")?.toLowerCase() ?? "";
  if (init.method === "HEAD" || !COMPRESSED.test(encoding)) return response;
  void response.body?.cancel().catch(() => undefined);
  throw new StorageError(
    "unavailable",
    "the response is compressed, which the request did not allow; check the endpoint URL, and the proxies before it",
  );
}

/** Not `identity`, and not `aws-chunked`, which some servers return although it concerns the upload. */
const COMPRESSED = /gzip|deflate|compress|br|zstd/u;

async function sendThroughProxy(url: string, init: RequestInit): Promise<Response> {
  const proxy = proxyFor(new URL(url));
  const direct = proxy === undefined;
  try {
    if (process.versions["bun"] !== undefined)
      return await fetch(url, { ...init, proxy: proxy ?? false, decompress: false });
    return direct ? await fetch(url, init) : await fetchOnNode(url, init, proxy);
  } catch (error) {
    if (direct || init.signal?.aborted || error instanceof StorageError) throw error;
    throw new ProxyFailure(new URL(proxy).host, error);
  }
}

/** One pool of connections for each proxy. */
const agents = new Map<string, unknown>();

async function fetchOnNode(url: string, init: RequestInit, proxy: string): Promise<Response> {
  const undici = await import("undici").catch(() => {
    throw usage("a proxy on Node needs the package undici: npm install undici");
  });
  let agent = agents.get(proxy);
  // Tunnels are for TLS: many proxies refuse them to other ports.
  if (agent === undefined)
    agents.set(proxy, (agent = new undici.ProxyAgent({ uri: proxy, proxyTunnel: false })));
  const { fetch: proxied } = undici as unknown as { readonly fetch: typeof fetch };
  return proxied(url, { ...init, dispatcher: agent } as RequestInit);
}
