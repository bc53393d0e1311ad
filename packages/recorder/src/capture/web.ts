import type { Header } from "../record/exchange.ts";
import type { Capture, CapturedResponse, ExchangeProgress, OpenExchange } from "./capture.ts";
import { isThenable } from "../is-thenable.ts";
import { isOf } from "./is-of.ts";
import { shadowMessageBody } from "./message-body.ts";
import { copyResponse } from "./response-body.ts";

/** A handler of web requests, such as `app.fetch` of Hono; other arguments are passed on. */
export type WebHandler<Rest extends unknown[], Answer> = (
  request: Request,
  ...rest: Rest
) => Answer;

/** A handler that records what the given one answers. */
export function recordHandler<Rest extends unknown[], Answer>(
  handler: WebHandler<Rest, Answer>,
  capture: Capture,
): WebHandler<Rest, Answer> {
  function recorded(this: unknown, request: Request, ...rest: Rest): unknown {
    const answered: Answered = { response: undefined, type: undefined };
    const exchange = begin(request, answered, capture);
    if (exchange === undefined) return Reflect.apply(handler, this, [request, ...rest]);
    const passOn = (answer: unknown): unknown =>
      recordAnswer(answer, answered, request, exchange, capture);
    let answer: unknown;
    try {
      answer = Reflect.apply(handler, this, [request, ...rest]);
    } catch (error) {
      capture.finish(exchange, "error");
      throw error;
    }
    if (!isThenable(answer)) return passOn(answer);
    return answer.then(passOn, (error: unknown) => {
      capture.finish(exchange, "error");
      throw error;
    });
  }
  // It answers what the handler does, or a response in its place.
  return recorded as WebHandler<Rest, Answer>;
}

/** What a handler answered, if it has. */
interface Answered {
  response: Response | undefined;
  /** What the runtime sends as `Content-Type` although the response does not have it. */
  type: string | undefined;
}

function progressOf({ response, type }: Answered): ExchangeProgress {
  if (response === undefined) return {};
  const sent = responseOf(response);
  if (type === undefined || type === "" || response.headers.has("content-type")) {
    return { response: sent };
  }
  return { response: { ...sent, headers: [...sent.headers, ["content-type", type]] } };
}

function begin(request: Request, answered: Answered, capture: Capture): OpenExchange | undefined {
  let exchange: OpenExchange | undefined;
  capture.aside(() => {
    const headers = headersOf(request.headers);
    const seen = { method: request.method, url: pathOf(request.url), headers };
    exchange = capture.begin("in", seen, () => progressOf(answered));
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
  answered: Answered,
  request: Request,
  exchange: OpenExchange,
  capture: Capture,
): unknown {
  // Otherwise it is an upgrade, or something that the runtime answers itself.
  if (!isOf(answer, Response)) {
    capture.finish(exchange);
    return answer;
  }
  answered.response = answer;
  let replaced: unknown;
  if (request.method !== "HEAD") {
    const copy = capture.body();
    exchange.responseBody = copy;
    capture.aside(() => {
      replaced = copyResponse(answer, copy, capture, (ended, type) => {
        answered.type = type;
        capture.finish(exchange, ended);
      });
    });
  }
  if (replaced !== undefined) return replaced;
  // When it was sent, because Bun adds to the headers of a file once somebody asks for them.
  setImmediate(() => capture.finish(exchange));
  return answer;
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
