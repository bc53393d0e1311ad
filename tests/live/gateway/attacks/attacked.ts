import { connect, type Socket } from "node:net";
import { type GatewayHome, gatewayHome, type RunningGateway } from "../running-gateway.ts";
import { elements, type S3Requests, s3Requests, sign, type ToSign } from "../s3-requests.ts";

export const BUCKET = "attacked";
/** Whether nothing else runs. Other tests make the gateway slower than an attack may. */
export const SLOW = process.env["IDK_TEST_SLOW"] === "1";
/** After which clients give up, in ms. */
export const CLIENT_MAX = 30_000;

/** A gateway of the command, with a bucket, and what an attacker can reach of it. */
export interface Attacked extends AsyncDisposable {
  readonly home: GatewayHome;
  readonly gateway: RunningGateway;
  readonly host: string;
  readonly requests: S3Requests;
  /** A new connection. It has a listener for errors. */
  open(): Socket;
  /**
   * Sends texts, and waits in between for numbers of ms.
   *
   * @returns all that came back until the end of the connection, or 3 s after the last text; 30 s if a text
   *   asks for that end
   */
  raw(...steps: readonly (string | Uint8Array | number)[]): Promise<string>;
  /** The text of a request up to its body, signed unless headers say otherwise. */
  head(given: Omit<ToSign, "host">, ...lines: readonly string[]): string;
  /** All keys in the bucket. */
  keys(): Promise<readonly string[]>;
  /** Closes all connections, stops the gateway, and returns the whole of its access log. */
  stop(): ReturnType<RunningGateway["log"]>;
}

export async function attackedGateway(...args: readonly string[]): Promise<Attacked> {
  const home = await gatewayHome();
  const gateway = await home.serve(...args);
  const { hostname, port, host } = new URL(gateway.endpoint);
  const requests = s3Requests(gateway);
  await requests.send("PUT", `/${BUCKET}`);
  const sockets = new Set<Socket>();
  const open = (): Socket => {
    const socket = connect(Number(port), hostname);
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    return socket;
  };
  return {
    home,
    gateway,
    host,
    requests,
    open,
    async raw(...steps) {
      const socket = open();
      const pieces: Uint8Array[] = [];
      const closed = new Promise<void>((resolve) => {
        socket.on("close", () => resolve());
      });
      socket.on("data", (piece: Uint8Array) => pieces.push(piece));
      for (const step of steps) {
        if (typeof step === "number") await Promise.race([closed, Bun.sleep(step)]);
        else if (!socket.destroyed) socket.write(step, "latin1");
      }
      const endsIt = (step: unknown): boolean =>
        typeof step === "string" && /^connection: close\r$/imu.test(step);
      await Promise.race([closed, Bun.sleep(steps.some(endsIt) ? CLIENT_MAX : 3000)]);
      socket.destroy();
      return Buffer.concat(pieces).toString("latin1");
    },
    head(given, ...lines) {
      const { headers } = sign(requests.keys, { ...given, host });
      const all = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      return [`${given.method} ${given.target} HTTP/1.1`, ...all, ...lines, "", ""].join("\r\n");
    },
    async keys() {
      const { body } = await requests.send("GET", `/${BUCKET}?list-type=2`);
      return elements(body, "Key");
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await gateway.stop();
      return gateway.log();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      requests[Symbol.dispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

/** The statuses of all answers in a text. */
export function statusesOf(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /gu)].map(([, status]) => Number(status));
}
