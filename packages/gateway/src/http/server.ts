import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { createExchange, type Exchange } from "./exchange.ts";
import { CLIENT_PATIENCE, type PatienceOptions } from "./patience.ts";

/** Where and how to listen. */
export interface ListenOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** PEM. Without it, HTTP in plain text. */
  readonly tls?: TlsFiles | undefined;
  /** Connections beyond it are closed as they come. */
  readonly maxConnections: number;
  readonly patience?: PatienceOptions | undefined;
}

/** A certificate with its chain, and its key. */
export interface TlsFiles {
  readonly cert: string | Uint8Array;
  readonly key: string | Uint8Array;
}

/** A server that listens. */
export interface HttpServer {
  readonly url: string;
  /** Connections that are open. */
  connections(): number;
  /** Connections that were refused because there were too many. */
  refused(): number;
  /**
   * Accepts no more connections, and ends those that are open: idle ones at once, others after their
   * request, or when the time is over.
   *
   * @param graceMs how long requests in progress may take
   */
  close(graceMs: number): Promise<void>;
}

/** Connections count once they are encrypted. Until then, this limits how long they take. */
const HANDSHAKE_MS = 10_000;
/** A client must have sent its request's headers by then. */
const HEADERS_MS = 20_000;
/** Longer than most load balancers keep an idle connection, so that they are the ones to end it. */
const KEEP_ALIVE_MS = 75_000;
const CHECK_MS = 2000;
const HEADERS_MAX = 32 * 1024;

/**
 * Listens for HTTP/1.1. Targets and headers reach the handler as they were sent.
 *
 * @param handle answers each request by `send`; it must not reject
 */
export async function listen(
  { host, port, tls, maxConnections, patience = CLIENT_PATIENCE }: ListenOptions,
  handle: (exchange: Exchange) => Promise<void>,
): Promise<HttpServer> {
  let refused = 0;
  let isClosing = false;
  /** Open connections, and how many requests of each are in progress. */
  const sockets = new Map<Socket, number>();

  const onRequest =
    (waitsForContinue: boolean) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      const { socket } = request;
      sockets.set(socket, (sockets.get(socket) ?? 0) + 1);
      const options = { waitsForContinue, patience, isClosing: () => isClosing };
      void handle(createExchange(request, response, options)).finally(() => {
        const left = (sockets.get(socket) ?? 1) - 1;
        if (sockets.has(socket)) sockets.set(socket, left);
        if (isClosing && left === 0) socket.end();
      });
    };

  const limits = {
    headersTimeout: HEADERS_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: CHECK_MS,
    maxHeaderSize: HEADERS_MAX,
    // A large body may take hours. Its progress is watched instead.
    requestTimeout: 0,
  };
  const server: Server =
    tls === undefined
      ? createServer(limits)
      : createTlsServer({
          ...limits,
          cert: Buffer.from(tls.cert),
          key: Buffer.from(tls.key),
          minVersion: "TLSv1.2",
          handshakeTimeout: HANDSHAKE_MS,
        });
  server.maxConnections = maxConnections;
  // Beyond a maximum, headers would be left out without an error. The size limits them.
  server.maxHeadersCount = 0;
  server.on("request", onRequest(false));
  // Without this, node:http sends `100 Continue` before anyone has looked at the request.
  server.on("checkContinue", onRequest(true));
  server.on("checkExpectation", (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(417, { connection: "close", "content-length": "0" }).end();
  });
  server.on("clientError", refuseMalformed);
  server.on("drop", () => {
    refused += 1;
  });
  server.on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) => {
    // Over TLS, Bun itself counts no connections.
    if (sockets.size >= maxConnections) {
      refused += 1;
      socket.destroy();
      return;
    }
    sockets.set(socket, 0);
    socket.on("close", () => sockets.delete(socket));
    // Without a listener, a reset would end the process.
    socket.on("error", () => socket.destroy());
  });

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });

  return {
    url: urlOf(server, tls !== undefined),
    connections: () => sockets.size,
    refused: () => refused,
    async close(graceMs) {
      isClosing = true;
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      // The server's own idea of idle leaves out connections without any request so far.
      for (const [socket, requests] of sockets) if (requests === 0) socket.destroy();
      const timer = setTimeout(() => {
        for (const socket of sockets.keys()) socket.destroy();
      }, graceMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

function urlOf(server: Server, isTls: boolean): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http${isTls ? "s" : ""}://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

/** Answers what is not HTTP, or not in time. Nobody has been authenticated, so no word about why. */
function refuseMalformed(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const status =
    error.code === "ERR_HTTP_REQUEST_TIMEOUT"
      ? "408 Request Timeout"
      : error.code === "HPE_HEADER_OVERFLOW"
        ? "431 Request Header Fields Too Large"
        : "400 Bad Request";
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  // The other side may never close its own.
  setTimeout(() => socket.destroy(), 1000).unref();
}
