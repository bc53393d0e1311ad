import type {
  Exchange,
  Header,
  RecordedBody,
  RecordedRequest,
  RecordedResponse,
} from "../record/exchange.ts";

/*
 * HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/), as far as a server sees an exchange.
 * What it does not know is -1 or empty, as the specification asks. Members of our own begin with an
 * underscore.
 */

/**
 * A HAR document of exchanges, as text in pieces, so that memory does not depend on how many there
 * are.
 *
 * @param version of the program that exports, for the document's `creator`
 */
export async function* harText(
  exchanges: AsyncIterable<Exchange>,
  version: string,
): AsyncGenerator<string> {
  const creator = JSON.stringify({ name: "idk recorder", version });
  yield `{"log":{"version":"1.2","creator":${creator},"entries":[`;
  let separator = "\n";
  for await (const exchange of exchanges) {
    yield separator + JSON.stringify(harEntry(exchange));
    separator = ",\n";
  }
  yield "\n]}}\n";
}

/** An entry of a HAR document. */
export function harEntry(exchange: Exchange): object {
  const { id, time, direction, route, ended, request, response } = exchange;
  const ms = Math.max(0, exchange.ms);
  return {
    startedDateTime: time,
    time: ms,
    request: harRequest(exchange),
    response: response === undefined ? NO_RESPONSE : harResponse(response, request),
    cache: {},
    // Only the whole time is known.
    timings: { send: 0, wait: ms, receive: 0 },
    _id: id,
    _direction: direction,
    ...(route !== undefined && { _route: route }),
    ...(ended !== undefined && { _ended: ended }),
  };
}

const NO_RESPONSE = {
  status: 0,
  statusText: "",
  httpVersion: "",
  cookies: [],
  headers: [],
  content: { size: 0, mimeType: "" },
  redirectURL: "",
  headersSize: -1,
  bodySize: -1,
};

function harRequest({ request }: Exchange): object {
  const { method, url, headers, body } = request;
  return {
    method,
    url: uriOf(request),
    httpVersion: httpVersion(request),
    cookies: requestCookies(headers),
    headers: nameValues(headers),
    queryString: queryOf(url),
    ...(body !== undefined && { postData: postData(body) }),
    headersSize: -1,
    bodySize: body?.size ?? 0,
  };
}

function harResponse(response: RecordedResponse, request: RecordedRequest): object {
  const { status, reason = "", headers, body } = response;
  return {
    status,
    statusText: reason,
    httpVersion: httpVersion(request),
    cookies: responseCookies(headers),
    headers: nameValues(headers),
    content: content(body),
    redirectURL: valuesOf(headers, "location")[0] ?? "",
    headersSize: -1,
    bodySize: body?.size ?? 0,
  };
}

function httpVersion({ http }: RecordedRequest): string {
  return http === undefined ? "" : `HTTP/${http}`;
}

const HOST = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/iu;
const ABSOLUTE = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)(.*)$/isu;

/**
 * A URI, as the schema wants it. A server sees a path; the rest is in headers, if they are to be
 * believed.
 */
function uriOf({ url, headers }: RecordedRequest): string {
  const [, start, rest] = ABSOLUTE.exec(url) ?? [];
  if (start !== undefined) return encodedUri(start, "@:[]") + encodedUri(rest!, "@:");
  const [host = ""] = valuesOf(headers, "host");
  const scheme = valuesOf(headers, "x-forwarded-proto")[0] === "https" ? "https" : "http";
  const path = url.startsWith("/") ? url : `/${url}`;
  return `${scheme}://${HOST.test(host) ? host : "unknown"}${encodedUri(path, "@:")}`;
}

/** Percent-encodes what RFC 3986 does not allow. */
function encodedUri(text: string, allowed: string): string {
  let hasFragment = false;
  return text
    .toWellFormed()
    .replaceAll(/%(?![0-9a-f]{2})|[^a-z0-9._~!$&'()*+,;=/?%-]/giu, (part) => {
      if (allowed.includes(part)) return part;
      if (part === "#" && !hasFragment) {
        hasFragment = true;
        return part;
      }
      return encodeURIComponent(part);
    });
}

/** Decoded, where it can be. */
function queryOf(url: string): object[] {
  const query = /\?([^#]*)/u.exec(url)?.[1] ?? "";
  return parametersOf(query).map(([name, value]) => ({ name, value }));
}

function parametersOf(query: string): [name: string, value: string][] {
  return query === "" ? [] : [...new URLSearchParams(query)];
}

const FORM = /^application\/x-www-form-urlencoded\b/iu;

function postData(body: RecordedBody): object {
  const mimeType = body.type ?? "";
  const { text } = body;
  // The specification wants either of them; the browser's tools read the text.
  const isForm = text !== undefined && FORM.test(mimeType);
  return {
    mimeType,
    text: text ?? body.base64 ?? "",
    ...(isForm && { params: parametersOf(text).map(([name, value]) => ({ name, value })) }),
    ...(body.base64 !== undefined && { _encoding: "base64" }),
    ...aboutBody(body),
  };
}

function content(body: RecordedBody | undefined): object {
  if (body === undefined) return { size: 0, mimeType: "" };
  const { size, type = "", text, base64 } = body;
  return {
    size,
    mimeType: type,
    ...(text !== undefined && { text }),
    ...(base64 !== undefined && { text: base64, encoding: "base64" }),
    ...aboutBody(body),
  };
}

function aboutBody({ cut, why }: RecordedBody): object {
  if (why !== undefined) return { comment: `not recorded: ${why}`, _why: why };
  return cut === true ? { comment: "only the beginning was recorded", _cut: true } : {};
}

function nameValues(headers: readonly Header[]): object[] {
  return headers.map(([name, value]) => ({ name, value }));
}

function valuesOf(headers: readonly Header[], wanted: string): string[] {
  return headers.flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value] : []));
}

function requestCookies(headers: readonly Header[]): object[] {
  return valuesOf(headers, "cookie")
    .flatMap((value) => value.split(";"))
    .map((part) => cookiePair(part))
    .filter(({ name, value }) => name !== "" || value !== "");
}

function responseCookies(headers: readonly Header[]): object[] {
  return valuesOf(headers, "set-cookie").map((text) => responseCookie(text));
}

function responseCookie(text: string): object {
  const [first = "", ...attributes] = text.split(";");
  const named = new Map(
    attributes.map((part) => {
      const { name, value } = cookiePair(part);
      return [name.toLowerCase(), value];
    }),
  );
  const expires = Date.parse(named.get("expires") ?? "");
  return {
    ...cookiePair(first),
    ...(named.has("path") && { path: named.get("path") }),
    ...(named.has("domain") && { domain: named.get("domain") }),
    ...(!Number.isNaN(expires) && { expires: new Date(expires).toISOString() }),
    httpOnly: named.has("httponly"),
    secure: named.has("secure"),
  };
}

function cookiePair(part: string): { readonly name: string; readonly value: string } {
  const equals = part.indexOf("=");
  if (equals === -1) return { name: part.trim(), value: "" };
  return { name: part.slice(0, equals).trim(), value: part.slice(equals + 1).trim() };
}
