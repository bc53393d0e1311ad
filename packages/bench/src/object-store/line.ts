/* Puts a line between the suites and the store: a longer round trip, a limited rate. */
import { join } from "node:path";
import { Usage } from "../command/usage.ts";
import { jobProgram } from "../harness/processes.ts";
import { type FarStore, withRoundTrip } from "./latency.ts";
import type { LineJob } from "./line-proxy.ts";

/** What is between the suites and the store, beyond the network that is there. */
export interface Line {
  /** Milliseconds to add to each round trip. */
  readonly rtt?: number | undefined;
  /** Bytes per second in each direction, of all connections together. */
  readonly rate?: number | undefined;
}

/**
 * Puts a line in front of a store.
 *
 * @param endpoint http://host:port
 * @throws Usage if there is no fault proxy, which round trips need, or the store uses TLS; Error if a proxy fails
 */
export async function withLine(endpoint: string, { rtt, rate }: Line): Promise<FarStore> {
  await using stack = new AsyncDisposableStack();
  let end = endpoint;
  if (rtt !== undefined) end = stack.use(await withRoundTrip(end, rtt)).endpoint;
  // Nearer than the round trip, whose proxy takes as many bytes as there are: they would have left already.
  if (rate !== undefined) end = stack.use(await withRate(end, rate)).endpoint;
  const kept = stack.move();
  return { endpoint: end, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

async function withRate(endpoint: string, rate: number): Promise<FarStore> {
  const { protocol, hostname, port } = new URL(endpoint);
  if (protocol !== "http:") throw new Usage(`--rate needs a store without TLS, not ${endpoint}`);
  const job: LineJob = { hostname, port: Number(port || "80"), rate };
  const { argv, env } = jobProgram(join(import.meta.dirname, "line-proxy.ts"), job);
  const child = Bun.spawn([...argv], {
    env: { ...process.env, ...env },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) throw new Error(`the proxy of --rate ended (${await child.exited})`);
  return {
    endpoint: `http://127.0.0.1:${new TextDecoder().decode(value).trim()}`,
    async [Symbol.asyncDispose]() {
      await child.stdin.end();
      await child.exited;
    },
  };
}
