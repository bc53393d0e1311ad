import type { BodyCopy } from "../capture/body-copy.ts";
import type { CapturedExchange } from "../capture/capture.ts";
import type {
  Exchange,
  Header,
  RecordedBody,
  RecordedRequest,
  RecordedResponse,
} from "../record/exchange.ts";
import type { ExchangeRedactor, Redactor, Work } from "../redact/contract.ts";
import { LINE_BYTES_MAX } from "../segments/limits.ts";

/**
 * A record on its way to JSON, which leaves out members that are undefined. It is made for each
 * exchange, and each object that is spread into another one takes a call into the runtime.
 */
type Draft<T> = T extends object ? { readonly [K in keyof T]: Draft<T[K]> | undefined } : T;

/** Redacts an exchange, and gives it the form in which it is stored. */
export function* recordOf(
  exchange: CapturedExchange,
  redactor: Redactor,
  run: string,
): Work<Draft<Exchange>> {
  const { direction, ended, ms, number, request, route, response, time } = exchange;
  const rules = redactor.for({ url: request.url, route });
  const requestBody = yield* redactBody(exchange.requestBody, request.headers, false, rules);
  const recordedRequest: Draft<RecordedRequest> = {
    method: request.method,
    url: yield* rules.url(),
    http: request.http,
    headers: yield* rules.headers(request.headers),
    body: requestBody,
  };
  const recordedRoute = route === undefined ? undefined : yield* rules.route();
  let recordedResponse: Draft<RecordedResponse> | undefined;
  if (response !== undefined) {
    // `fetch` decodes what it receives, and leaves the header as it was.
    const isDecoded = direction === "out";
    const body = yield* redactBody(exchange.responseBody, response.headers, isDecoded, rules);
    recordedResponse = {
      status: response.status,
      reason: response.reason === "" ? undefined : yield* rules.text(response.reason),
      headers: yield* rules.headers(response.headers),
      body,
    };
  }
  return {
    id: `${run.slice(0, 12)}-${number}`,
    time: new Date(time).toISOString(),
    ms: Math.round(ms * 1000) / 1000,
    direction,
    route: recordedRoute,
    ended,
    request: recordedRequest,
    response: recordedResponse,
  };
}

function* redactBody(
  copy: BodyCopy | undefined,
  headers: readonly Header[],
  isDecoded: boolean,
  rules: ExchangeRedactor,
): Work<RecordedBody | undefined> {
  if (copy === undefined) return undefined;
  const { bytes, cut, ended, limit, overBudget, size, unseen } = copy;
  if (ended && size === 0 && !unseen) return undefined;
  const type = valueOf(headers, "content-type");
  const hasNone = limit === 0 && size > 0;
  const why = unseen ? "unseen" : overBudget ? "queue" : hasNone ? "limit" : undefined;
  if (why !== undefined) {
    return { size, ...(type === undefined ? {} : { type: yield* rules.text(type) }), why };
  }
  const encoding = isDecoded ? undefined : valueOf(headers, "content-encoding");
  return yield* rules.body({ size, type, encoding, bytes, cut });
}

/** The values of a header, joined as a proxy would; undefined if there is none. */
function valueOf(headers: readonly Header[], name: string): string | undefined {
  let value: string | undefined;
  for (const [key, part] of headers) {
    if (key.length !== name.length || key.toLowerCase() !== name) continue;
    value = value === undefined ? part : `${value}, ${part}`;
  }
  return value;
}

/**
 * The line of an exchange, without its line feed. Leaves out the bodies if readers would refuse it as
 * too long.
 *
 * @throws RangeError if it is too long without them, too
 */
export function lineOf(exchange: Draft<Exchange>): string {
  const text = JSON.stringify(exchange);
  if (isLine(text)) return text;
  const { request, response } = exchange;
  const [shortRequest, shortResponse] = [withoutBody(request), withoutBody(response)];
  const short = JSON.stringify({ ...exchange, request: shortRequest, response: shortResponse });
  if (!isLine(short)) throw new RangeError("the exchange is longer than a line can be");
  return short;
}

function isLine(text: string): boolean {
  // A unit of UTF-16 takes up to three bytes. Most lines are far shorter.
  return 3 * text.length < LINE_BYTES_MAX || Buffer.byteLength(text) < LINE_BYTES_MAX;
}

function withoutBody<T extends Draft<RecordedRequest | RecordedResponse>>(message: T | undefined) {
  if (message?.body === undefined) return message;
  const { size, type } = message.body;
  return { ...message, body: { size, type, why: "limit" } };
}
