import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Server as NetServer, Socket } from "node:net";
import {
  createServer as createTlsServer,
  type SecureContextOptions,
  type Server as TlsServer,
} from "node:tls";
import { S3Error, type S3ErrorCode } from "../errors.ts";
import { errorDocument } from "../xml/error-document.ts";
import { createConnections, IDLE_TIMES, type IdleTimes } from "./connection/connections.ts";
import { createExchange, type Exchange, requestId } from "./connection/exchange.ts";
import { createFlow, type Flow } from "./connection/flow.ts";
import { CLIENT_PATIENCE, type PatienceOptions } from "./connection/patience.ts";

/** Where and how to listen. */
export interface ListenOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** PEM. Without it, HTTP in plain text. */
  readonly tls?: TlsFiles | undefined;
  /**
   * Beyond it, connections are closed for new ones: idle ones, and those without an authenticated request.
   * New ones are closed only if all others are busy with authenticated requests.
   */
  readonly maxConnections: number;
  readonly patience?: PatienceOptions | undefined;
  readonly idle?: IdleTimes | undefined;
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
   * Uses another certificate for new connections.
   *
   * @throws Error if it is not one, does not belong to its key, or the server has none; the old one stays
   */
  setCertificate(files: TlsFiles): void;
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

/** How long a client may take to encrypt its connection, in ms. */
const HANDSHAKE_MS = 3000;
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
  { host, port, tls, maxConnections, patience = CLIENT_PATIENCE, idle = IDLE_TIMES }: ListenOptions,
  handle: (exchange: Exchange) => Promise<void>,
  onRefused: (refusal: Refusal) => void = () => {},
): Promise<HttpServer> {
  let isClosing = false;
  const connections = createConnections(maxConnections, idle);
  const flow = createFlow();

  const onRequest =
    (waitsForContinue: boolean) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      const { socket } = request;
      flow.begin(request);
      const exchange = createExchange(request, response, {
        waitsForContinue,
        patience,
        onRead: () => flow.advance(request),
        isClosing: () => isClosing,
        onAuthenticated: () => {
          const connection = connections.find(socket);
          if (connection !== undefined) connection.isKnown = true;
        },
        onLingering: () => {
          const connection = connections.find(socket);
          if (connection !== undefined) connection.isLingering = true;
        },
      });
      connections.run(socket, async () =>
        lacksHost(request) ? refuseWithoutHost(exchange, onRefused) : handle(exchange),
      );
    };

  const server: Server = createServer({
    maxHeaderSize: HEADERS_MAX,
    // Told to clients.
    keepAliveTimeout: idle.knownMs,
    // Connections have their own time to send headers, which holds over TLS, too.
    headersTimeout: 0,
    // A large body may take hours. Its progress is watched instead.
    requestTimeout: 0,
    // Bun would answer at once, in the middle of the answer to an earlier request.
    requireHostHeader: false,
  });
  const acceptor = tls === undefined ? server : acceptTls(tls, server, flow);
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
  // Over TLS, connections count before they are encrypted.
  acceptor.on("connection", connections.add);

  await new Promise<void>((resolve, reject) => {
    acceptor.once("error", reject);
    acceptor.listen({ host, port }, () => {
      acceptor.off("error", reject);
      resolve();
    });
  });

  return {
    url: urlOf(acceptor, tls !== undefined),
    connections: connections.count,
    refused: connections.refused,
    running: connections.running,
    queued: connections.queued,
    setCertificate(files) {
      if (!("setSecureContext" in acceptor)) throw new Error("the server has no certificate");
      acceptor.setSecureContext(secureContext(files));
    },
    async close(graceMs) {
      isClosing = true;
      const closed = new Promise<void>((resolve) => {
        acceptor.close(() => resolve());
      });
      // The server's own idea of idle leaves out connections without any request so far.
      connections.drain();
      const timer = setTimeout(connections.destroyAll, graceMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

/**
 * Accepts connections for a server of HTTP, and encrypts them. Bun's `node:https` neither counts
 * connections before they are encrypted, nor limits how long that takes, nor takes another certificate.
 */
function acceptTls(files: TlsFiles, server: Server, flow: Flow): TlsServer {
  const acceptor = createTlsServer({ ...secureContext(files), handshakeTimeout: HANDSHAKE_MS });
  acceptor.on("secureConnection", (socket) => {
    // It may have been closed for another one meanwhile.
    if (socket.destroyed) return;
    server.emit("connection", socket);
    flow.watch(socket);
  });
  // Whoever does not encrypt has no other answer than the end of the connection.
  acceptor.on("tlsClientError", (_, socket) => socket?.destroy());
  return acceptor;
}

function secureContext({ cert, key }: TlsFiles): SecureContextOptions {
  return { cert: Buffer.from(cert), key: Buffer.from(key), minVersion: "TLSv1.2" };
}

function urlOf(server: NetServer, isTls: boolean): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http${isTls ? "s" : ""}://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

type ParserError = Error & { readonly code?: string };

const XML = "application/xml";

function refusalBody(code: S3ErrorCode, id: string): string {
  return errorDocument(new S3Error(code), { resource: "", requestId: id, hostId: id });
}

/** RFC 9112, section 3.2. */
function lacksHost({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === "1.1" && headers.host === undefined;
}

async function refuseWithoutHost(
  exchange: Exchange,
  onRefused: (refusal: Refusal) => void,
): Promise<void> {
  const { id, remote } = exchange;
  const headers = { connection: "close", "content-type": XML };
  onRefused({ id, remote, status: 400 });
  // A client that is gone needs no answer.
  await exchange
    .send({ status: 400, headers, body: refusalBody("BadRequest", id) })
    .catch(() => {});
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
  if (code === "HPE_HEADER_OVERFLOW") {
    return [431, "Request Header Fields Too Large", "RequestHeaderSectionTooLarge"];
  }
  return [400, "Bad Request", code === "HPE_INVALID_URL" ? "InvalidURI" : "BadRequest"];
}
