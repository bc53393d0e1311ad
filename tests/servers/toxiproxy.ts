import { randomBytes } from "node:crypto";
import { serverUrl } from "./require-server.ts";
import { z } from "zod";

/** A fault that toxiproxy applies to connections, in the terms of its API. */
export interface Toxic {
  readonly type:
    | "latency"
    | "bandwidth"
    | "timeout"
    | "reset_peer"
    | "limit_data"
    | "slicer"
    | "slow_close";
  /** Toward the server or from it; by default `downstream`. */
  readonly stream?: "upstream" | "downstream";
  readonly attributes: Readonly<Record<string, number>>;
  /** The share of connections affected; by default 1, all. */
  readonly toxicity?: number;
}

/**
 * A proxy in front of a server, with its faults in place from the first connection. They are not
 * changed while connections are open: toxiproxy would wait for data that cannot be delivered, and
 * the whole process would hang.
 */
export interface FaultProxy {
  /** To be used instead of the server's. */
  readonly endpoint: string;
  /** Closes all connections; new ones to the same endpoint have no faults. */
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
      // The port may be taken for a moment, by another process's outgoing connection.
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
  if (api === undefined) throw new Error('there is no toxiproxy; use requireServer("toxiproxy")');
  const response = await fetch(new URL(path, api), {
    method,
    signal: AbortSignal.timeout(10_000),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`toxiproxy: ${response.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}
