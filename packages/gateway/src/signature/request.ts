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

/**
 * Parses target and headers.
 *
 * @throws S3Error `InvalidURI` for a target that is not a path or not percent-encoded UTF-8;
 *   `InvalidArgument` for a query parameter that is there twice; `InvalidRequest` for a header that
 *   must be there once and is there twice (`host`, `authorization`, `content-length`, `x-amz-…` and
 *   others), is folded, or has control characters
 */
export function parseRequest(_raw: RawRequest): S3Request {
  throw new Error("not written yet");
}

/**
 * The path's segments as bytes: the part before the second slash (the bucket, of a request that has
 * none in its host) and the rest (the key). Neither dot segments nor double slashes mean anything.
 *
 * @param rawPath begins with `/`
 * @throws S3Error `InvalidURI` for a path that is not percent-encoded UTF-8
 */
export function splitPath(_rawPath: string): { readonly first: string; readonly rest: Uint8Array } {
  throw new Error("not written yet");
}

/** The whole path after its first slash as bytes: the key of a request with the bucket in its host. */
export function decodePath(_rawPath: string): Uint8Array {
  throw new Error("not written yet");
}
