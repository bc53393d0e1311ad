import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { S3Error, type S3ErrorCode } from "../errors.ts";
import { errorDocument } from "../xml/error-document.ts";
import { createConnections } from "./connection/connections.ts";
import { createExchange, type Exchange, requestId } from "./connection/exchange.ts";
import { CLIENT_PATIENCE, type PatienceOptions } from "./connection/patience.ts";

/** Where and how to listen. */
export interface ListenOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** PEM. Without it, HTTP in plain text. */
  readonly tls?: TlsFiles | undefined;
  /**
   * Beyond it, idle connections are closed for new ones: those without an authenticated request first.
   * New ones are closed if none is idle.
   */
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
  /** Connections that were closed because there were too many. */
  refused(): number;
  /** Requests in progress. */
  running(): number;
  /** Requests that wait for an earlier one of their connection. */
  queued(): number;
  /**
   * Accepts no more connections, and ends those that are open: idle ones at once, others after their
   * request, or when the time is over.
   *
   * @param graceMs how long requests in progress may take
   */
  close(graceMs: number): Promise<void>;
}

/** What was answered without a handler: it is not HTTP, or it came too late. */
export interface Refusal {
  /** The request id, which the client was told. */
  readonly id: string;
  readonly remote: string;
  readonly status: number;
}

/** Connections count once they are encrypted. Until then, this limits how long they take. */
const HANDSHAKE_MS = 3000;
/** A client must have sent its request's headers by then. */
const HEADERS_MS = 20_000;
/** Longer than most load balancers keep an idle connection, so that they are the ones to end it. */
const KEEP_ALIVE_MS = 75_000;
const CHECK_MS = 2000;
const HEADERS_MAX = 32 * 1024;

/**
 * Listens for HTTP/1.1. Targets and headers reach the handler as they were sent.
 *
 * Requests of one connection run one after another.
 *
 * @param handle answers each request by `send`; it must not reject
 * @param onRefused is told of what never became a request
 */
export async function listen(
  { host, port, tls, maxConnections, patience = CLIENT_PATIENCE }: ListenOptions,
  handle: (exchange: Exchange) => Promise<void>,
  onRefused: (refusal: Refusal) => void = () => {},
): Promise<HttpServer> {
  let isClosing = false;
  const connections = createConnections(maxConnections);

  const onRequest =
    (waitsForContinue: boolean) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      const { socket } = request;
      const exchange = createExchange(request, response, {
        waitsForContinue,
        patience,
        isClosing: () => isClosing,
        onAuthenticated: () => {
          const connection = connections.find(socket);
          if (connection !== undefined) connection.isKnown = true;
        },
      });
      connections.run(socket, async () => handle(exchange));
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
  // Beyond a maximum, headers would be left out without an error. The size limits them.
  server.maxHeadersCount = 0;
  server.on("request", onRequest(false));
  // Without this, node:http sends `100 Continue` before anyone has looked at the request.
  server.on("checkContinue", onRequest(true));
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    const id = requestId();
    const body = refusalBody("BadRequest", id);
    const headers = { connection: "close", "x-amz-request-id": id, "content-type": XML };
    response.writeHead(417, { ...headers, "content-length": `${body.length}` }).end(body);
    onRefused({ id, remote: request.socket.remoteAddress ?? "", status: 417 });
  });
  server.on("clientError", (error: ParserError, socket: Socket) => {
    // In the middle of the answer to another request, it would be taken for a part of that.
    if ((connections.find(socket)?.requests ?? 0) > 0) socket.destroy();
    else refuseMalformed(error, socket, onRefused);
  });
  server.on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) =>
    connections.add(socket),
  );

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });

  return {
    url: urlOf(server, tls !== undefined),
    connections: connections.count,
    refused: connections.refused,
    running: connections.running,
    queued: connections.queued,
    async close(graceMs) {
      isClosing = true;
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      // The server's own idea of idle leaves out connections without any request so far.
      connections.drain();
      const timer = setTimeout(connections.destroyAll, graceMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

function urlOf(server: Server, isTls: boolean): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http${isTls ? "s" : ""}://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

type ParserError = Error & { readonly code?: string };

const XML = "application/xml";

function refusalBody(code: S3ErrorCode, id: string): string {
  return errorDocument(new S3Error(code), { resource: "", requestId: id, hostId: id });
}

/** Answers what is not HTTP, or not in time. Nobody has been authenticated, so no word about why. */
function refuseMalformed(
  error: ParserError,
  socket: Socket,
  onRefused: (refusal: Refusal) => void,
): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, reason, code] = refusalOf(error);
  const id = requestId();
  const body = refusalBody(code, id);
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    "connection: close",
    `content-type: ${XML}`,
    `content-length: ${body.length}`,
    `x-amz-request-id: ${id}`,
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  onRefused({ id, remote: socket.remoteAddress ?? "", status });
  // The other side may never close its own.
  setTimeout(() => socket.destroy(), 1000).unref();
}

function refusalOf({
  code,
}: ParserError): readonly [status: number, reason: string, code: S3ErrorCode] {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return [408, "Request Timeout", "RequestTimeout"];
  if (code === "HPE_HEADER_OVERFLOW") {
    return [431, "Request Header Fields Too Large", "RequestHeaderSectionTooLarge"];
  }
  return [400, "Bad Request", code === "HPE_INVALID_URL" ? "InvalidURI" : "BadRequest"];
}
