/** Sends requests at a fixed rate, in a process of its own, so that a slow server does not slow it down. */
import { Agent, request } from "node:http";
import { answerJob } from "../../harness/processes.ts";
import { ENDPOINTS } from "./endpoints.ts";

export interface LoadJob {
  readonly port: number;
  /** The name of an endpoint. */
  readonly endpoint: string;
  readonly count: number;
  /** Requests a second; without it, each of 16 connections sends as soon as it has an answer. */
  readonly rate?: number | undefined;
}

export interface Load {
  /** Seconds of all requests together. */
  readonly seconds: number;
  /** Seconds of each, from when it was to be sent. */
  readonly latencies: readonly number[];
}

const CONNECTIONS = 16;
const SOCKETS_MOST = 256;

async function load({ count, endpoint: name, port, rate }: LoadJob): Promise<Load> {
  const { answer, body, method, path } = ENDPOINTS.find((endpoint) => endpoint.name === name)!;
  const maxSockets = rate === undefined ? CONNECTIONS : SOCKETS_MOST;
  const agent = new Agent({ keepAlive: true, maxSockets });
  const headers = {
    accept: "application/json",
    authorization: "Bearer a-token",
    cookie: "session=a; theme=b",
    "user-agent": "idk-bench",
    ...(body !== undefined && {
      "content-type": "application/json",
      "content-length": String(body.length),
    }),
  };
  const expected = answer().length;
  const send = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const sent = request({ port, method, path, headers, agent }, (response) => {
        let received = 0;
        response.on("data", (chunk: Buffer) => {
          received += chunk.length;
        });
        response.on("end", () => {
          if (response.statusCode === 200 && received === expected) resolve();
          else reject(new Error(`a wrong answer: ${response.statusCode}, ${received} bytes`));
        });
      });
      sent.on("error", reject);
      sent.end(body);
    });

  const latencies: number[] = [];
  const timed = async (due: number): Promise<void> => {
    await send();
    latencies.push((performance.now() - due) / 1000);
  };
  const start = performance.now();
  if (rate === undefined) {
    let left = count;
    const lane = async (): Promise<void> => {
      while (left-- > 0) await timed(performance.now());
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, lane));
  } else {
    const all: Promise<void>[] = [];
    while (all.length < count) {
      const due = start + (all.length * 1000) / rate;
      const early = due - performance.now();
      if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
      else all.push(timed(due));
    }
    await Promise.all(all);
  }
  return { seconds: (performance.now() - start) / 1000, latencies };
}

await answerJob(load);
