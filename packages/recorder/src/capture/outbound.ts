import type { Header } from "../record/exchange.ts";
import type { BodyCopy } from "./body-copy.ts";
import type { Capture, CapturedResponse, OpenExchange } from "./capture.ts";
import { isOwnWork } from "../own-work.ts";
import { copiedStream, isUsed } from "./copied-stream.ts";
import { isOf, isPlain } from "./is-of.ts";
import { shadowMessageBody } from "./message-body.ts";
import { bun } from "../runtime.ts";
import { isThenable } from "../is-thenable.ts";
import { headersOf, responseOf } from "./web.ts";

/** `fetch`, or a function that works the same way. */
export type FetchFunction = (
  input: string | URL | Request,
  init?: RequestInit,
) => Promise<Response>;

/** A `fetch` that records what is asked through the given one. */
export function recordFetch<Fetch extends FetchFunction>(fetch: Fetch, capture: Capture): Fetch {
  /** Ends exchanges whose responses the application dropped without reading them. */
  const dropped = new FinalizationRegistry<OpenExchange>((exchange) => {
    capture.finish(exchange, "unread");
  });

  function recorded(this: unknown, input: string | URL | Request, init?: RequestInit): unknown {
    const progress: Progress = { response: undefined };
    const begun = begin(input, init, progress, capture);
    const sent = begun.init === undefined ? [input] : [input, begun.init];
    const { exchange } = begun;
    let answer: unknown;
    try {
      answer = Reflect.apply(fetch, this, sent);
    } catch (error) {
      if (exchange !== undefined) capture.finish(exchange, "error");
      throw error;
    }
    if (exchange === undefined) return answer;
    const passOn = (response: unknown): unknown => {
      let reading = false;
      capture.aside(() => {
        reading = recordResponse(response as Response, progress, exchange, capture);
      });
      if (reading) dropped.register(response as Response, exchange);
      else capture.finish(exchange);
      return response;
    };
    // Functions that take its place in tests may answer at once.
    if (!isThenable(answer)) return passOn(answer);
    return answer.then(passOn, (error: unknown) => {
      capture.finish(exchange, "error");
      throw error;
    });
  }
  // It answers what the given one does. Runtimes give `fetch` properties of its own.
  return Object.assign(recorded as Fetch, fetch);
}

/** What was answered so far; does not refer to the response, which would not be dropped then. */
interface Progress {
  response: CapturedResponse | undefined;
}

function readerOf(progress: Progress): () => Progress {
  return () => progress;
}

/** @returns the exchange, and what to send in place of `init` */
function begin(
  input: string | URL | Request,
  init: RequestInit | undefined,
  progress: Progress,
  capture: Capture,
): { exchange: OpenExchange | undefined; init: RequestInit | undefined } {
  let exchange: OpenExchange | undefined;
  let sent = init;
  if (isOwnWork()) return { exchange, init };
  capture.aside(() => {
    const given = isOf(input, Request) ? input : undefined;
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
    const url = isOf(input, Request) ? input.url : new URL(input).href;
    const request = { method, url, headers };
    // By a function of its own, which does not keep what is sent in memory until the end.
    exchange = capture.begin("out", request, readerOf(progress));
    if (exchange === undefined) return;
    if (body !== undefined) {
      exchange.requestBody = capture.body();
      if (!(body instanceof ReadableStream)) {
        copyBody(exchange.requestBody, body);
      } else if (bun !== undefined || isUsed(body)) {
        // Bun sends some with their length, and nobody can tell them from others. A stream that was
        // read from is refused.
        exchange.requestBody.unseen = true;
      } else {
        const passed = copiedStream(body, exchange.requestBody, capture, () => {});
        sent = withChanges(sent ?? {}, { body: passed });
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

/** @returns whether the body is still to be read */
function recordResponse(
  response: Response,
  progress: Progress,
  exchange: OpenExchange,
  capture: Capture,
): boolean {
  const sent = responseOf(response);
  progress.response = sent;
  if (!hasBody(exchange.request.method, sent.status, sent.headers)) return false;
  const copy = capture.body();
  exchange.responseBody = copy;
  copy.unseen = true;
  // The methods of another class are not known.
  if (!isPlain(response, Response)) return false;
  shadowMessageBody(response, copy, capture, (ended) => capture.finish(exchange, ended));
  return true;
}

function hasBody(method: string, status: number, headers: readonly Header[]): boolean {
  if (method === "HEAD" || status === 204 || status === 304) return false;
  return !headers.some(([name, value]) => name === "content-length" && value === "0");
}
