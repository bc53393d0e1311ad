import type { Header } from "../record/exchange.ts";
import type { BodyCopy } from "./body-copy.ts";
import type { Capture, OpenExchange } from "./capture.ts";
import { copiedStream } from "./copied-stream.ts";
import { shadowMessageBody } from "./message-body.ts";
import { headersOf, responseOf } from "./web.ts";

/** `fetch`, or a function that works the same way. */
export type FetchFunction = (
  input: string | URL | Request,
  init?: RequestInit,
) => Promise<Response>;

/** A `fetch` that records what is asked through the given one. */
export function recordFetch<Fetch extends FetchFunction>(fetch: Fetch, capture: Capture): Fetch {
  /** Ends exchanges whose responses the application dropped without reading them. */
  const dropped = new FinalizationRegistry<() => void>((finish) => finish());

  function recorded(
    this: unknown,
    input: string | URL | Request,
    init?: RequestInit,
  ): Promise<Response> {
    const begun = begin(input, init, capture);
    const sent = begun.init === undefined ? [input] : [input, begun.init];
    const { exchange } = begun;
    let answer: Promise<Response>;
    try {
      answer = Reflect.apply(fetch, this, sent);
    } catch (error) {
      if (exchange !== undefined) capture.finish(exchange, { ended: "error" });
      throw error;
    }
    if (exchange === undefined) return answer;
    return answer.then(
      (response) => {
        capture.aside(() => recordResponse(response, exchange, capture, dropped));
        return response;
      },
      (error: unknown) => {
        capture.finish(exchange, { ended: "error" });
        throw error;
      },
    );
  }
  // Runtimes give `fetch` properties of its own.
  return Object.assign(recorded as Fetch, fetch);
}

/** @returns the exchange, and what to send in place of `init` */
function begin(
  input: string | URL | Request,
  init: RequestInit | undefined,
  capture: Capture,
): { exchange: OpenExchange | undefined; init: RequestInit | undefined } {
  let exchange: OpenExchange | undefined;
  let sent = init;
  capture.aside(() => {
    const given = input instanceof Request ? input : undefined;
    const method = (init?.method ?? given?.method ?? "GET").toUpperCase();
    let named: RequestInit["headers"] = init?.headers ?? given?.headers;
    if (init !== undefined && isOneShot(named)) {
      named = Array.from(named, ([name, value]) => [name, value] as [string, string]);
      // Before anything that may throw, because the given headers are used up.
      sent = withChanges(init, { headers: named });
    }
    const headers = headersOf(new Headers(named));
    const body = init?.body ?? undefined;
    const type = typeOf(body);
    const typed = headers.some(([name]) => name === "content-type");
    if (type !== undefined && !typed) headers.push(["content-type", type]);
    // As it is sent: with a path.
    const url = input instanceof Request ? input.url : new URL(input).href;
    const request = { method, url, headers };
    exchange = capture.begin("out", request, () => ({}));
    if (exchange === undefined) return;
    if (body !== undefined) {
      exchange.requestBody = capture.body();
      if (body instanceof ReadableStream) {
        const passed = copiedStream(body, exchange.requestBody, capture, () => {});
        sent = withChanges(sent ?? {}, { body: passed });
      } else {
        copyBody(exchange.requestBody, body);
      }
    } else if (given !== undefined && method !== "GET" && method !== "HEAD") {
      exchange.requestBody = capture.body();
      exchange.requestBody.unseen = true;
    }
  });
  return { exchange, init: sent };
}

/** Headers in an iterator or another object that may be iterated only once. */
function isOneShot(headers: unknown): headers is Iterable<[string, string]> {
  if (typeof headers !== "object" || headers === null) return false;
  return Symbol.iterator in headers && !(headers instanceof Headers) && !Array.isArray(headers);
}

/** Options with others in their place; all of them, also those that a class or a `Request` gives. */
function withChanges(init: RequestInit, changes: RequestInit): RequestInit {
  const prototype: unknown = Object.getPrototypeOf(init);
  if (prototype === Object.prototype || prototype === null) return { ...init, ...changes };
  return new Proxy(init, {
    get: (target, name) =>
      Object.hasOwn(changes, name)
        ? changes[name as keyof RequestInit]
        : (Reflect.get(target, name) as unknown),
  });
}

/** The type that `fetch` adds to a request without one (Fetch Standard, "extract a body"). */
function typeOf(body: unknown): string | undefined {
  if (typeof body === "string") return "text/plain;charset=UTF-8";
  if (body instanceof URLSearchParams) return "application/x-www-form-urlencoded;charset=UTF-8";
  if (body instanceof FormData) return "multipart/form-data";
  return body instanceof Blob && body.type !== "" ? body.type : undefined;
}

function copyBody(copy: BodyCopy, body: unknown): void {
  copy.ended = true;
  if (typeof body === "string") copy.addText(body);
  else if (body instanceof URLSearchParams) copy.addText(body.toString());
  else if (body instanceof ArrayBuffer) copy.addBytes(new Uint8Array(body));
  else if (ArrayBuffer.isView(body)) {
    copy.addBytes(new Uint8Array(body.buffer, body.byteOffset, body.byteLength));
  } else {
    if (body instanceof Blob) copy.skip(body.size);
    copy.unseen = true;
  }
}

function recordResponse(
  response: Response,
  exchange: OpenExchange,
  capture: Capture,
  dropped: FinalizationRegistry<() => void>,
): void {
  const sent = responseOf(response);
  if (!hasBody(exchange.request.method, sent.status, sent.headers)) {
    capture.finish(exchange, { response: sent });
    return;
  }
  const copy = capture.body();
  exchange.responseBody = copy;
  shadowMessageBody(response, copy, capture, (ended) => {
    capture.finish(exchange, { response: sent, ended });
  });
  dropped.register(response, () => capture.finish(exchange, { response: sent, ended: "unread" }));
}

function hasBody(method: string, status: number, headers: readonly Header[]): boolean {
  if (method === "HEAD" || status === 204 || status === 304) return false;
  return !headers.some(([name, value]) => name === "content-length" && value === "0");
}
