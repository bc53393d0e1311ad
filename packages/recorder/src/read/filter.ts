import { StorageError } from "@idk/storage";
import type { Exchange, RecordedRequest, RecordedResponse } from "../record/exchange.ts";
import { patternMatcher } from "../record/pattern.ts";

/** Which exchanges to read; all that are given have to hold. */
export interface ExchangeFilter {
  /** Milliseconds since 1970: only those that began at this time or later. */
  readonly from?: number | undefined;
  /** Only those that began before this time. */
  readonly to?: number | undefined;
  /** `404`, `5xx`, or several, separated by commas; 0 is none at all. */
  readonly status?: string | undefined;
  /** A pattern for the route, or for the path if it has none: `*` is any text. */
  readonly route?: string | undefined;
  readonly id?: string | undefined;
  /** A text in the URL, a header, or the text of a body, as it was recorded. */
  readonly grep?: string | undefined;
}

/** @throws StorageError `usage` if the status is malformed */
export function exchangeMatcher(filter: ExchangeFilter): (exchange: Exchange) => boolean {
  const { from = -Infinity, to = Infinity, status, route, id, grep } = filter;
  const matchesRoute = route === undefined ? undefined : patternMatcher(route);
  const hasStatus = status === undefined ? () => true : statusMatcher(status);
  return (exchange) => {
    const time = Date.parse(exchange.time);
    return (
      time >= from &&
      time < to &&
      (id === undefined || exchange.id === id) &&
      hasStatus(exchange.response?.status ?? 0) &&
      (matchesRoute === undefined || matchesRoute(routeOf(exchange))) &&
      (grep === undefined || hasText(exchange, grep))
    );
  };
}

/** The route of an exchange, or the path of its URL. */
export function routeOf({ route, request }: Exchange): string {
  if (route !== undefined) return route;
  return request.url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/iu, "").replace(/[?#].*$/su, "");
}

/** Whether segments of a run may have an exchange of this id. */
export function mayHaveId(run: string, id: string | undefined): boolean {
  const start = id?.split("-")[0];
  return start === undefined || run.startsWith(start);
}

function statusMatcher(status: string): (status: number) => boolean {
  const patterns = status.split(",").map((pattern) => pattern.trim().toLowerCase());
  if (!patterns.every((pattern) => /^(?:0|[1-9](?:\d\d|xx))$/u.test(pattern))) {
    throw new StorageError(
      "usage",
      "status must be a code or a class of codes, such as 404, 5xx or 404,5xx",
    );
  }
  return (given) => {
    const text = String(given);
    return patterns.some((pattern) => pattern === text || pattern === `${text[0]}xx`);
  };
}

function hasText({ request, response }: Exchange, text: string): boolean {
  return (
    request.url.includes(text) || hasMessageText(request, text) || hasMessageText(response, text)
  );
}

function hasMessageText(
  message: RecordedRequest | RecordedResponse | undefined,
  text: string,
): boolean {
  if (message === undefined) return false;
  const { headers, body } = message;
  return (
    headers.some(([name, value]) => value.includes(text) || name.includes(text)) ||
    body?.text?.includes(text) === true
  );
}
