import { decodePercent, invalidUri, utf8Text } from "./percent.ts";
import { S3Error } from "../errors.ts";

/**
 * Headers by lower-case name. Values are trimmed, and Latin-1: a character for each byte, as
 * `node:http` gives them. Values of a header that was sent more than once are joined with commas.
 */
export type RequestHeaders = ReadonlyMap<string, string>;

/** What HTTP has of a request, untouched. */
export interface RawRequest {
  readonly method: string;
  /** The target of the request line: a path that begins with `/`, with an optional query. */
  readonly target: string;
  /** Names and values in turn, as received: `rawHeaders` of `node:http`. */
  readonly rawHeaders: readonly string[];
}

/** A request whose target and headers can mean only one thing. */
export interface S3Request {
  readonly method: string;
  /** As sent, percent-encoded, never normalised. */
  readonly rawPath: string;
  /** Names and values decoded, `+` as a space. A name without `=` has an empty value. */
  readonly query: ReadonlyMap<string, string>;
  readonly headers: RequestHeaders;
}

/** More than any client sends. */
const HEADERS_MAX = 200;
const QUERY_MAX = 100;

/**
 * Parses target and headers.
 *
 * @throws S3Error `InvalidURI` for a target that is not a path or not percent-encoded UTF-8;
 *   `InvalidArgument` for a query parameter that is there twice; `InvalidRequest` for a header that
 *   must be there once and is there twice (`host`, `authorization`, `content-length`, `x-amz-…` and
 *   others), is folded, or has control characters
 */
export function parseRequest({ method, target, rawHeaders }: RawRequest): S3Request {
  const mark = target.indexOf("?");
  const rawPath = mark === -1 ? target : target.slice(0, mark);
  // Controls and spaces cannot be in a request line; a fragment is never sent.
  if (!rawPath.startsWith("/") || /[\0-\x20#\x7F]/u.test(target)) throw invalidUri();
  decodePercent(rawPath);
  const query = parseQuery(mark === -1 ? "" : target.slice(mark + 1));
  return { method, rawPath, query, headers: parseHeaders(rawHeaders) };
}

function parseQuery(text: string): ReadonlyMap<string, string> {
  const query = new Map<string, string>();
  if (text === "") return query;
  for (const pair of text.replaceAll("+", "%20").split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodeText(equals === -1 ? pair : pair.slice(0, equals));
    if (query.has(name)) {
      // Programs on the way may take the first one or the last one.
      throw new S3Error("InvalidArgument", "A query parameter must not be repeated.", {
        details: { ArgumentName: name },
      });
    }
    query.set(name, equals === -1 ? "" : decodeText(pair.slice(equals + 1)));
    if (query.size > QUERY_MAX) throw new S3Error("InvalidRequest", "Too many query parameters.");
  }
  return query;
}

function decodeText(text: string): string {
  return utf8Text(decodePercent(text));
}

/** Headers that lists of values or metadata are sent in; any other header counts once. */
const LISTS =
  /^(?:x-amz-meta-.*|x-amz-(?:optional-)?object-attributes|accept.*|access-control-.*|baggage|cache-control|connection|content-encoding|content-language|cookie|forwarded|if-match|if-none-match|keep-alive|link|pragma|te|tracestate|trailer|upgrade|user-agent|via|warning|x-forwarded-.*)$/u;

function parseHeaders(rawHeaders: readonly string[]): RequestHeaders {
  const headers = new Map<string, string>();
  if (rawHeaders.length > 2 * HEADERS_MAX) throw new S3Error("RequestHeaderSectionTooLarge");
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name, value] = parseHeader(rawHeaders[i]!, rawHeaders[i + 1]!);
    const earlier = headers.get(name);
    if (earlier !== undefined && !LISTS.test(name)) {
      throw invalidHeader(`The header ${name} must not be repeated.`);
    }
    headers.set(name, earlier === undefined ? value : `${earlier},${value}`);
  }
  if (headers.has("content-length") && headers.has("transfer-encoding")) {
    throw invalidHeader("Content-Length and Transfer-Encoding must not be sent together.");
  }
  return headers;
}

/**
 * Adds headers that come in the query instead, unless the request has them as such.
 *
 * @throws S3Error `InvalidRequest` for what cannot be a header, such as a value of two lines
 */
export function addHeaders(
  headers: RequestHeaders,
  added: Iterable<readonly [name: string, value: string]>,
): RequestHeaders {
  const all = new Map(headers);
  for (const pair of added) {
    const [name, value] = parseHeader(pair[0], Buffer.from(pair[1]).toString("latin1"));
    if (!all.has(name)) all.set(name, value);
  }
  return all;
}

function parseHeader(rawName: string, rawValue: string): readonly [name: string, value: string] {
  const name = rawName.toLowerCase();
  const value = trimBlanks(rawValue);
  // A folded header has a line break in its value.
  if (!isHeaderName(name) || !/^[\t\x20-\x7E\x80-\xFF]*$/u.test(value)) {
    throw invalidHeader("A header is malformed.");
  }
  return [name, value];
}

/** Whether it can be the name of a header, in lower case. */
export function isHeaderName(text: string): boolean {
  return /^[!#$%&'*+\-.^_`|~0-9a-z]+$/u.test(text);
}

/** Not by a regular expression, which takes quadratic time for blanks that are not at the end. */
function trimBlanks(text: string): string {
  let [start, end] = [0, text.length];
  const isBlank = (at: number): boolean => text[at] === " " || text[at] === "\t";
  while (start < end && isBlank(start)) start += 1;
  while (start < end && isBlank(end - 1)) end -= 1;
  return text.slice(start, end);
}

function invalidHeader(message: string): S3Error {
  return new S3Error("InvalidRequest", message);
}

/**
 * The path's segments: the part before the second slash (the bucket, of a request that has none in
 * its host) and the rest as bytes (the key). Neither dot segments nor double slashes mean anything.
 *
 * @param rawPath begins with `/`
 * @throws S3Error `InvalidURI` for a path that is not percent-encoded UTF-8
 */
export function splitPath(rawPath: string): { readonly first: string; readonly rest: Uint8Array } {
  const slash = rawPath.indexOf("/", 1);
  const end = slash === -1 ? rawPath.length : slash;
  return {
    first: decodeText(rawPath.slice(1, end)),
    rest: decodePercent(rawPath.slice(end + 1)),
  };
}

/** The whole path after its first slash as bytes: the key of a request with the bucket in its host. */
export function decodePath(rawPath: string): Uint8Array {
  return decodePercent(rawPath.slice(1));
}
