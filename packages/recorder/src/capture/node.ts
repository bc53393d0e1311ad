import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Header } from "../record/exchange.ts";
import type { Capture, CapturedResponse, ExchangeProgress, OpenExchange } from "./capture.ts";
import { shadow } from "./shadow.ts";

/**
 * Captures what a server answers. Methods of its own requests and responses are shadowed, on the
 * objects; they are called as they were, and what they return or throw is passed on.
 *
 * @returns a function that ends it
 */
export function attachToServer(server: Server, capture: Capture): () => void {
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    capture.aside(() => captureRequest(request, response, capture));
  };
  // Before the application's own listener, which may answer at once.
  server.prependListener("request", onRequest);
  return () => server.removeListener("request", onRequest);
}

function captureRequest(
  request: IncomingMessage,
  response: ServerResponse,
  capture: Capture,
): void {
  const { method = "", httpVersion: http, url = "" } = request;
  const isHttp2 = request.httpVersionMajor >= 2;
  const headers = pairsOf(request.rawHeaders);
  const progress = (): ExchangeProgress => {
    let route: string | undefined;
    // Frameworks may define what is asked for here as getters.
    capture.aside(() => {
      route = routeOf(request);
    });
    return { response: response.headersSent ? sentResponse(response, isHttp2) : undefined, route };
  };
  const exchange = capture.begin("in", { method, url, http, headers }, progress);
  if (exchange === undefined) return;
  let waiting: Set<() => void> | undefined;
  const finish = (): void => {
    waiting?.delete(finish);
    let sent = false;
    capture.aside(() => {
      sent = response.writableFinished;
      const { requestBody, responseBody } = exchange;
      if (requestBody !== undefined) requestBody.ended = request.complete;
      if (responseBody !== undefined) responseBody.ended = sent;
    });
    capture.finish(exchange, sent ? undefined : "aborted");
  };
  // Before anything that may throw, so that the exchange ends.
  response.on("close", finish);
  // HTTP/2 announces a body only if it tells its length.
  const mayHaveBody = isHttp2 || headers.some(([name]) => ANNOUNCES_BODY.test(name));
  if (mayHaveBody) shadowPush(request, exchange, capture);
  shadowBody(request, response, exchange, capture);
  // Requests that tests inject into a server have none.
  if ((request.socket as Socket | null | undefined) == null) return;
  waiting = waitingOn(request.socket);
  waiting.add(finish);
}

/** For each connection, what to call for each open exchange when it closes. */
const waitingBySocket = new WeakMap<Socket, Set<() => void>>();

/**
 * A pipelined response that waits for the one before is not told when the connection closes. One
 * listener for each connection, because Node warns of many.
 */
function waitingOn(socket: Socket): Set<() => void> {
  let waiting = waitingBySocket.get(socket);
  if (waiting !== undefined) return waiting;
  const added = new Set<() => void>();
  waiting = added;
  waitingBySocket.set(socket, waiting);
  socket.once("close", () => {
    // Responses that are told themselves know better how they ended.
    setImmediate(() => {
      for (const finish of added) finish();
    });
  });
  return waiting;
}

/** A request of HTTP/1 without one of these has no body (RFC 9112, section 6.3). */
const ANNOUNCES_BODY = /^(?:content-length|transfer-encoding)$/iu;

/** Copies the body of a request as it arrives, whether or not the application reads it. */
function shadowPush(request: IncomingMessage, exchange: OpenExchange, capture: Capture): void {
  const { push } = request;
  shadow(request, "push", (chunk: unknown, encoding?: BufferEncoding) => {
    capture.aside(() => {
      if (exchange.over) return;
      exchange.requestBody ??= capture.body();
      exchange.requestBody.add(chunk, encoding);
    });
    return push.call(request, chunk, encoding);
  });
}

/** Copies the body of a response as it is written. */
function shadowBody(
  request: IncomingMessage,
  response: ServerResponse,
  exchange: OpenExchange,
  capture: Capture,
): void {
  // `end` may call `write`, depending on the runtime.
  let inside = false;
  for (const name of ["write", "end"] as const) {
    const original = response[name] as (...given: unknown[]) => unknown;
    shadow(response, name, (...given: unknown[]) => {
      if (inside || response.writableEnded) return original.apply(response, given);
      // Before the call, in which the response may end.
      capture.aside(() => {
        if (exchange.over || !hasBody(request, response) || !isChunk(given[0])) return;
        exchange.responseBody ??= capture.body();
        exchange.responseBody.add(given[0], given[1]);
      });
      inside = true;
      try {
        return original.apply(response, given);
      } finally {
        inside = false;
      }
    });
  }
}

/** What is written in answer to these is not sent (RFC 9110, section 6.4.1). */
function hasBody({ method }: IncomingMessage, { statusCode }: ServerResponse): boolean {
  return method !== "HEAD" && statusCode !== 204 && statusCode !== 304;
}

function isChunk(given: unknown): boolean {
  return typeof given === "string" || given instanceof Uint8Array;
}

function sentResponse(response: ServerResponse, isHttp2: boolean): CapturedResponse {
  // Node keeps the head as it was sent, with the headers that it added itself; Bun another text.
  const { _header: head } = response as { _header?: unknown };
  if (typeof head === "string" && head.startsWith("HTTP/")) return parseHead(head);
  const headers: Header[] = [];
  for (const name of response.getHeaderNames()) {
    const value: unknown = response.getHeader(name);
    if (Array.isArray(value)) for (const one of value) headers.push([name, String(one)]);
    else headers.push([name, String(value)]);
  }
  // HTTP/2 has no reason, and Node warns the application of asking for it.
  const reason = isHttp2 ? "" : (response.statusMessage ?? "");
  return { status: response.statusCode, reason, headers };
}

/** Splits a head as Node sends it: a status line, then headers, each ended by CRLF. */
function parseHead(head: string): CapturedResponse {
  const headers: Header[] = [];
  const first = head.indexOf("\r\n");
  for (let start = first + 2; start < head.length;) {
    const end = head.indexOf("\r\n", start);
    const colon = head.indexOf(": ", start);
    if (end <= start || colon === -1) break;
    headers.push([head.slice(start, colon), head.slice(colon + 2, end)]);
    start = end + 2;
  }
  // HTTP/1.1 200 OK
  return { status: Number(head.slice(9, 12)), reason: head.slice(13, first), headers };
}

/** The pattern that Express matched. */
function routeOf(request: IncomingMessage): string | undefined {
  const { baseUrl, route } = request as { baseUrl?: unknown; route?: { path?: unknown } };
  if (typeof route !== "object" || typeof route?.path !== "string") return undefined;
  return (typeof baseUrl === "string" ? baseUrl : "") + route.path;
}

function pairsOf(flat: readonly string[]): Header[] {
  const pairs: Header[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) pairs.push([flat[i]!, flat[i + 1]!]);
  return pairs;
}
