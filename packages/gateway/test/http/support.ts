import { afterAll, afterEach } from "bun:test";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as tlsConnect } from "node:tls";
import { makeCertificate } from "../../../../tests/servers/certificate.ts";
import type { Exchange } from "../../src/http/connection/exchange.ts";
import {
  type HttpServer,
  listen,
  type ListenOptions,
  type TlsFiles,
} from "../../src/http/server.ts";

/** For `describe.each`: parsers differ between the two. */
export const SCHEMES = ["http", "https"] as const;
export type Scheme = (typeof SCHEMES)[number];

const folders: string[] = [];
const servers: HttpServer[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await server.close(0);
});

afterAll(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

let shared: Promise<TlsFiles> | undefined;

/** A new certificate for 127.0.0.1. */
export async function newCertificate(): Promise<TlsFiles> {
  const folder = await mkdtemp(join(tmpdir(), "idk-tls-"));
  folders.push(folder);
  await makeCertificate(folder);
  const read = async (name: string): Promise<Uint8Array> => readFile(join(folder, name));
  return { cert: await read("public.crt"), key: await read("private.key") };
}

/** A server with its clients, all closed at the end of the test. */
export interface TestServer {
  readonly server: HttpServer;
  /** A new connection, over TLS if that is the scheme. Its errors are ignored. */
  connect(): Socket;
  /** One without TLS in any case. */
  connectPlain(): Socket;
  /** Sends texts with pauses, in ms, over a connection, and resolves with all that came until it ended. */
  send(...texts: readonly (string | number)[]): Promise<string>;
}

/** Starts a server whose clients may be silent for 300 ms. */
export async function startServer(
  handle: (exchange: Exchange) => Promise<void>,
  { scheme = "http", ...given }: Partial<ListenOptions> & { readonly scheme?: Scheme } = {},
): Promise<TestServer> {
  const tls = scheme === "http" ? undefined : await (shared ??= newCertificate());
  const server = await listen(
    {
      host: "127.0.0.1",
      port: 0,
      maxConnections: 100,
      patience: { stallMs: 300, minRate: 100_000 },
      tls,
      ...given,
    },
    handle,
  );
  servers.push(server);
  const address = { port: Number(new URL(server.url).port), host: "127.0.0.1" };
  const kept = (socket: Socket): Socket => {
    sockets.push(socket);
    return socket.on("error", () => {});
  };
  const open = (): Socket =>
    kept(tls ? tlsConnect({ ...address, rejectUnauthorized: false }) : connect(address));
  return {
    server,
    connect: open,
    connectPlain: () => kept(connect(address)),
    async send(...texts) {
      const socket = open();
      let received = "";
      socket.on("data", (data: Uint8Array) => {
        received += Buffer.from(data).toString("latin1");
      });
      const ended = closed(socket);
      for (const text of texts) {
        if (typeof text === "number") await Bun.sleep(text);
        else socket.write(Buffer.from(text, "latin1"));
      }
      await Promise.race([ended, Bun.sleep(4000)]);
      return received;
    },
  };
}

/** Resolves once a connection is closed, with the time since the call in ms. */
export async function closed(socket: Socket): Promise<number> {
  const start = performance.now();
  await new Promise<void>((resolve) => {
    socket.on("close", () => resolve());
  });
  return performance.now() - start;
}

export async function ok(exchange: Exchange): Promise<void> {
  await exchange.send({ status: 200, headers: {}, body: "done" }).catch(() => {});
}

export async function readAll({ incoming }: Exchange): Promise<number> {
  let length = 0;
  for await (const piece of incoming.bytes) length += piece.length;
  return length;
}
