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
    url: rules.url(),
    ...(request.http === undefined ? {} : { http: request.http }),
    headers: rules.headers(request.headers),
    ...(requestBody === undefined ? {} : { body: requestBody }),
  };
  let recordedResponse: RecordedResponse | undefined;
  if (response !== undefined) {
    // `fetch` decodes what it receives, and leaves the header as it was.
    const encoding =
      direction === "out" ? undefined : valueOf(response.headers, "content-encoding");
    const body = yield* redactBody(exchange.responseBody, response.headers, encoding, rules);
    recordedResponse = {
      status: response.status,
      ...(response.reason === "" ? {} : { reason: rules.text(response.reason) }),
      headers: rules.headers(response.headers),
      ...(body === undefined ? {} : { body }),
    };
  }
  return {
    id: `${run.slice(0, 12)}-${number}`,
    time: new Date(time).toISOString(),
    ms: Math.round(ms * 1000) / 1000,
    direction,
    ...(route === undefined ? {} : { route }),
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
  const form = { size, ...(type === undefined ? {} : { type: rules.text(type) }) };
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
