import { StorageError, usage } from "../../../errors.ts";
import { requireUncompressed } from "../../http/response.ts";
import { ProxyFailure } from "./errors.ts";
import { proxyFor } from "./proxy.ts";

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
  requireUncompressed(response, init.method);
  return response;
}

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
