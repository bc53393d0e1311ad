import type { Header } from "../record/exchange.ts";
import type { Capture, CapturedResponse, OpenExchange } from "./capture.ts";
import { shadowMessageBody } from "./message-body.ts";
import { copyResponse } from "./response-body.ts";

/** A handler of web requests, such as `app.fetch` of Hono; other arguments are passed on. */
export type WebHandler = (
  request: Request,
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever the caller's handler takes
  ...rest: any[]
) => unknown;

/** A handler that records what the given one answers. */
export function recordHandler<Handler extends WebHandler>(
  handler: Handler,
  capture: Capture,
): Handler {
  function recorded(this: unknown, request: Request, ...rest: unknown[]): unknown {
    const exchange = begin(request, capture);
    if (exchange === undefined) return Reflect.apply(handler, this, [request, ...rest]);
    let answer: unknown;
    try {
      answer = Reflect.apply(handler, this, [request, ...rest]);
    } catch (error) {
      capture.finish(exchange, { ended: "error" });
      throw error;
    }
    const passOn = (settled: unknown): unknown => recordAnswer(settled, request, exchange, capture);
    if (!(answer instanceof Promise)) return passOn(answer);
    return answer.then(passOn, (error: unknown) => {
      capture.finish(exchange, { ended: "error" });
      throw error;
    });
  }
  return recorded as Handler;
}

function begin(request: Request, capture: Capture): OpenExchange | undefined {
  let exchange: OpenExchange | undefined;
  capture.aside(() => {
    const headers = headersOf(request.headers);
    const { method, url } = request;
    exchange = capture.begin("in", { method, url: pathOf(url), headers }, () => ({}));
    if (exchange === undefined || !headers.some(([name]) => ANNOUNCES_BODY.test(name))) return;
    exchange.requestBody = capture.body();
    shadowMessageBody(request, exchange.requestBody, capture, () => {});
  });
  return exchange;
}

/** A request without one of these has no body (RFC 9112, section 6.3). */
const ANNOUNCES_BODY = /^(?:content-length|transfer-encoding)$/u;

/** @returns what takes the place of the answer */
function recordAnswer(
  answer: unknown,
  request: Request,
  exchange: OpenExchange,
  capture: Capture,
): unknown {
  let replaced = answer;
  capture.aside(() => {
    // Otherwise an upgrade, or something that the runtime answers itself.
    const response = answer instanceof Response ? responseOf(answer) : undefined;
    if (!(answer instanceof Response) || request.method === "HEAD") {
      capture.finish(exchange, { response });
      return;
    }
    const copy = capture.body();
    exchange.responseBody = copy;
    replaced = copyResponse(answer, copy, capture, (ended) => {
      capture.finish(exchange, { response, ended });
    });
  });
  return replaced;
}

export function responseOf({ headers, status, statusText }: Response): CapturedResponse {
  return { status, reason: statusText, headers: headersOf(headers) };
}

/** Each `set-cookie` by itself. */
export function headersOf(headers: Headers): Header[] {
  return [...headers];
}

/** The path and query of a request's URL; the header `host` has the rest. */
function pathOf(url: string): string {
  const slash = url.indexOf("/", url.indexOf("//") + 2);
  return slash === -1 ? "/" : url.slice(slash);
}
