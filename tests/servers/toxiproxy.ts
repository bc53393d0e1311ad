import { randomBytes } from "node:crypto";
import { serverUrl } from "./needs.ts";
import { z } from "zod";

/** What toxiproxy can do to a connection, in its own words. */
export interface Toxic {
  readonly type:
    | "latency"
    | "bandwidth"
    | "timeout"
    | "reset_peer"
    | "limit_data"
    | "slicer"
    | "slow_close";
  /** Towards the server, or from it; by default from it. */
  readonly stream?: "upstream" | "downstream";
  readonly attributes: Readonly<Record<string, number>>;
  /** The share of connections that it touches; by default all. */
  readonly toxicity?: number;
}

/**
 * A proxy before a server, with its faults from the first connection on. They are not changed on
 * open connections: toxiproxy then waits for data that cannot go anywhere, and locks up as a whole.
 */
export interface FaultProxy {
  /** Stands for the server's. */
  readonly endpoint: string;
  /** Cuts all connections; new ones, to the same endpoint, have no faults. */
  heal(): Promise<void>;
  remove(): Promise<void>;
}

const Created = z.object({ listen: z.string() });

export async function faultProxy(upstream: string, toxics: readonly Toxic[]): Promise<FaultProxy> {
  const create = async (listen: string): Promise<[string, string]> => {
    const name = `idk-${randomBytes(6).toString("hex")}`;
    const { host } = new URL(upstream);
    const proxy = { name, listen, upstream: host, enabled: true };
    return [name, Created.parse(await call("POST", "/proxies", proxy)).listen];
  };

  let [name, listen] = await create("127.0.0.1:0");
  for (const { type, stream = "downstream", attributes, toxicity = 1 } of toxics) {
    await call("POST", `/proxies/${name}/toxics`, { type, stream, attributes, toxicity });
  }

  return {
    endpoint: `http://${listen}`,
    async heal() {
      await call("DELETE", `/proxies/${name}`);
      // Somebody's outgoing connection may hold the port for a moment.
      for (const end = Date.now() + 5000; ; await Bun.sleep(100)) {
        try {
          [name] = await create(listen);
          return;
        } catch (error) {
          if (Date.now() > end) throw error;
        }
      }
    },
    async remove() {
      await call("DELETE", `/proxies/${name}`);
    },
  };
}

async function call(method: string, path: string, body?: object): Promise<unknown> {
  const api = serverUrl("toxiproxy");
  if (api === undefined) throw new Error('there is no toxiproxy; use needs("toxiproxy")');
  const answer = await fetch(new URL(path, api), {
    method,
    signal: AbortSignal.timeout(10_000),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`toxiproxy: ${answer.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}
