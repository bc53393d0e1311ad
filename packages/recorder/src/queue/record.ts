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

/** Redacts an exchange, and gives it the form in which it is stored. */
export function* recordOf(
  exchange: CapturedExchange,
  redactor: Redactor,
  run: string,
): Work<Exchange> {
  const { direction, ended, ms, number, request, route, response, time } = exchange;
  const rules = redactor.for({ url: request.url, route });
  const requestEncoding = valueOf(request.headers, "content-encoding");
  const requestBody = yield* redactBody(
    exchange.requestBody,
    request.headers,
    requestEncoding,
    rules,
  );
  const recordedRequest: RecordedRequest = {
    method: request.method,
    url: yield* rules.url(),
    ...(request.http === undefined ? {} : { http: request.http }),
    headers: yield* rules.headers(request.headers),
    ...(requestBody === undefined ? {} : { body: requestBody }),
  };
  const recordedRoute = yield* rules.route();
  let recordedResponse: RecordedResponse | undefined;
  if (response !== undefined) {
    // `fetch` decodes what it receives, and leaves the header as it was.
    const encoding =
      direction === "out" ? undefined : valueOf(response.headers, "content-encoding");
    const body = yield* redactBody(exchange.responseBody, response.headers, encoding, rules);
    recordedResponse = {
      status: response.status,
      ...(response.reason === "" ? {} : { reason: yield* rules.text(response.reason) }),
      headers: yield* rules.headers(response.headers),
      ...(body === undefined ? {} : { body }),
    };
  }
  return {
    id: `${run.slice(0, 12)}-${number}`,
    time: new Date(time).toISOString(),
    ms: Math.round(ms * 1000) / 1000,
    direction,
    ...(recordedRoute === undefined ? {} : { route: recordedRoute }),
    ...(ended === undefined ? {} : { ended }),
    request: recordedRequest,
    ...(recordedResponse === undefined ? {} : { response: recordedResponse }),
  };
}

function* redactBody(
  copy: BodyCopy | undefined,
  headers: readonly Header[],
  encoding: string | undefined,
  rules: ExchangeRedactor,
): Work<RecordedBody | undefined> {
  if (copy === undefined) return undefined;
  const { chunks, cut, ended, held, limit, overBudget, size, unseen } = copy;
  if (ended && size === 0 && !unseen) return undefined;
  const type = valueOf(headers, "content-type");
  const form = { size, ...(type === undefined ? {} : { type: yield* rules.text(type) }) };
  if (unseen) return { ...form, why: "unseen" };
  if (overBudget) return { ...form, why: "queue" };
  if (held === 0 && size > 0 && limit === 0) return { ...form, why: "limit" };
  return yield* rules.body({ size, type, encoding, chunks, cut });
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
export function lineOf(exchange: Exchange): string {
  const text = JSON.stringify(exchange);
  if (isLine(text)) return text;
  const { request, response, ...rest } = exchange;
  const short = JSON.stringify({
    ...rest,
    request: withoutBody(request),
    ...(response === undefined ? {} : { response: withoutBody(response) }),
  });
  if (!isLine(short)) throw new RangeError("the exchange is longer than a line can be");
  return short;
}

function isLine(text: string): boolean {
  // A unit of UTF-16 takes up to three bytes. Most lines are far shorter.
  return 3 * text.length < LINE_BYTES_MAX || Buffer.byteLength(text) < LINE_BYTES_MAX;
}

function withoutBody<T extends { readonly body?: RecordedBody }>({ body, ...rest }: T) {
  if (body === undefined) return rest;
  const { size, type } = body;
  const omitted: RecordedBody = { size, ...(type === undefined ? {} : { type }), why: "limit" };
  return { ...rest, body: omitted };
}
