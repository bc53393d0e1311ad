/* Makes a store on this machine as far away as one on the network, by the project's fault proxy. */
import { randomBytes } from "node:crypto";
import { Usage } from "../command/usage.ts";

export interface FarStore extends AsyncDisposable {
  /** To be used instead of the store's. */
  readonly endpoint: string;
}

/**
 * Starts a proxy in front of a store that holds bytes back for half of the round trip in each direction.
 * It forwards bytes, so that requests stay signed for the host that the client names.
 *
 * @param endpoint http://host:port
 * @param rtt milliseconds, in addition to the store's own round trip
 * @throws Usage if there is no fault proxy, or the store uses TLS; Error if the proxy fails
 */
export async function withRoundTrip(
  endpoint: string,
  rtt: number,
  api: string | undefined = process.env["IDK_TEST_TOXIPROXY"],
): Promise<FarStore> {
  if (!api) {
    throw new Usage(
      "--rtt needs the fault proxy, and IDK_TEST_TOXIPROXY is not set: " +
        "run `script/toxiproxy run script/minio run script/idk bench …`",
    );
  }
  const { protocol, hostname, port } = new URL(endpoint);
  // The certificate would be for another host.
  if (protocol !== "http:") throw new Usage(`--rtt needs a store without TLS, not ${endpoint}`);
  const name = `idk-bench-${randomBytes(6).toString("hex")}`;
  const call = async (method: string, path: string, body?: object): Promise<string> => {
    const response = await fetch(new URL(path, api), {
      method,
      signal: AbortSignal.timeout(10_000),
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.ok) return text;
    throw new Error(`the fault proxy at ${api} rejected ${method} ${path}: ${text.trim()}`);
  };
  const remove = async (): Promise<void> => void (await call("DELETE", `/proxies/${name}`));
  const upstream = `${hostname}:${port || "80"}`;
  const proxy = { name, listen: "127.0.0.1:0", upstream, enabled: true };
  const { listen } = JSON.parse(await call("POST", "/proxies", proxy)) as { listen: string };
  try {
    for (const [stream, latency] of [
      ["upstream", Math.floor(rtt / 2)],
      ["downstream", Math.ceil(rtt / 2)],
    ]) {
      const toxic = { type: "latency", stream, attributes: { latency } };
      await call("POST", `/proxies/${name}/toxics`, toxic);
    }
  } catch (error) {
    await remove().catch(() => {});
    throw error;
  }
  return { endpoint: `http://${listen}`, [Symbol.asyncDispose]: remove };
}
