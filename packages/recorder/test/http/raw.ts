import { connect, type Socket } from "node:net";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A case that is run on Bun and on Node. */
export interface Scenario {
  readonly name: string;
  run(): Promise<void>;
}

/** A handler of requests, which may be asynchronous. */
export type Listener = (...given: Parameters<RequestListener>) => unknown;

/** A server on a port of its own, for the time of a call. */
export async function withServer<T>(
  listener: Listener,
  prepare: (server: Server) => void,
  call: (port: number) => Promise<T>,
): Promise<T> {
  const server = createServer((request, response) => void listener(request, response));
  prepare(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await call((server.address() as AddressInfo).port);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** A connection whose bytes are written and read as Latin-1. */
export interface Connection {
  readonly socket: Socket;
  /** Everything received until the text occurs, or the connection ends. */
  until(text: string): Promise<string>;
  /** Everything received until the connection ends. */
  all(): Promise<string>;
}

export function open(port: number, request: string): Connection {
  const socket = connect(port, "127.0.0.1", () => socket.write(request, "latin1"));
  let received = "";
  let ended = false;
  let wake = (): void => {};
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
    wake();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    ended = true;
    wake();
  });
  const until = async (text: string): Promise<string> => {
    while (!ended && !(text !== "" && received.includes(text))) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return received;
  };
  return { socket, until, all: () => until("") };
}

/** What a server sends on one connection, without the date. */
export async function exchangeBytes(port: number, request: string): Promise<string> {
  const received = await open(port, request).all();
  return received.replaceAll(/^date: .*\r\n/gimu, "");
}
