import { storedContentEncoding } from "../../body/plan.ts";
import type { StoredObject, Texts } from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import type { RequestHeaders } from "../../signature/request.ts";
import { httpTime } from "../answers.ts";

/** Is never copied with an object. */
const REDIRECT = "x-amz-website-redirect-location";

/** Headers of an object that are kept and returned as they were sent. */
const KEPT = [
  "cache-control",
  "content-disposition",
  "content-language",
  "content-type",
  "expires",
  REDIRECT,
  // All is sealed in any case. It is told to those who asked for it.
  "x-amz-server-side-encryption",
] as const;

const META = "x-amz-meta-";

/** Names and values of `x-amz-meta-…` together, in bytes, as on AWS. */
const META_MAX = 2048;

/** The headers of an object that its copy has, with those that the request sets in any case. */
export function copiedHeaders(object: Texts, request: Texts): Texts {
  const { [REDIRECT]: _, ...copied } = object;
  const redirect = request[REDIRECT];
  return redirect === undefined ? copied : { ...copied, [REDIRECT]: redirect };
}

/**
 * The headers to keep of a request that writes an object.
 *
 * @throws S3Error `MetadataTooLarge`, `InvalidRedirectLocation`
 */
export function keptHeaders(headers: RequestHeaders): Texts {
  const kept: Record<string, string> = {};
  for (const name of KEPT) {
    const value = headers.get(name);
    if (value !== undefined && value !== "") kept[name] = value;
  }
  const redirect = kept[REDIRECT];
  if (redirect !== undefined && !/^(?:https?:\/\/|\/)/u.test(redirect)) {
    throw new S3Error("InvalidRedirectLocation");
  }
  const encoding = storedContentEncoding(headers.get("content-encoding"));
  if (encoding !== undefined) kept["content-encoding"] = encoding;
  let size = 0;
  for (const [name, value] of headers) {
    if (!name.startsWith(META)) continue;
    // Headers are Latin-1: a character for each byte.
    size += name.length - META.length + value.length;
    kept[name] = value;
  }
  if (size > META_MAX) {
    throw new S3Error("MetadataTooLarge", undefined, {
      details: { Size: size, MaxSizeAllowed: META_MAX },
    });
  }
  return kept;
}

const STANDARD_TYPE = "binary/octet-stream";

/** The headers of an object in an answer to GET or HEAD, without those of its length. */
export function objectHeaders({ headers, etag, time, tags }: StoredObject): Record<string, string> {
  return {
    "content-type": STANDARD_TYPE,
    ...headers,
    etag: `"${etag}"`,
    "last-modified": httpTime(time),
    "accept-ranges": "bytes",
    "x-amz-storage-class": "STANDARD",
    ...(tags.length > 0 && { "x-amz-tagging-count": `${tags.length}` }),
  };
}

/** Headers that a GET may ask to have in place of the object's. */
const OVERRIDES: readonly (readonly [parameter: string, header: string])[] = [
  ["response-cache-control", "cache-control"],
  ["response-content-disposition", "content-disposition"],
  ["response-content-encoding", "content-encoding"],
  ["response-content-language", "content-language"],
  ["response-content-type", "content-type"],
  ["response-expires", "expires"],
];

export const OVERRIDE_PARAMETERS: readonly string[] = OVERRIDES.map(([parameter]) => parameter);

/** What a header may contain: visible characters, spaces and tabs. */
const VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/u;

/** @throws S3Error `InvalidArgument` */
export function overriddenHeaders(query: ReadonlyMap<string, string>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [parameter, header] of OVERRIDES) {
    const value = query.get(parameter);
    if (value === undefined) continue;
    // The query is Unicode, and headers are bytes.
    const bytes = Buffer.from(value).toString("latin1");
    if (!VALUE.test(bytes)) {
      throw new S3Error("InvalidArgument", "Header value cannot be represented using ISO-8859-1.", {
        details: { ArgumentName: parameter },
      });
    }
    headers[header] = bytes;
  }
  return headers;
}
