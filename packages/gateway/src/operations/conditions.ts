import type { Condition } from "../catalog/catalog.ts";
import type { StoredObject } from "../catalog/records.ts";
import { S3Error } from "../errors.ts";
import type { RequestHeaders } from "../signature/request.ts";
import { notImplemented } from "./not-implemented.ts";

/** The outcome of the conditions of a read. */
export type Precondition = "ok" | "not-modified" | "failed";

/**
 * Evaluates the conditions of a read in the order of RFC 9110, section 13.2.2: an ETag's condition
 * takes the place of the date's.
 *
 * @param prefix of the headers' names: `if-`, or `x-amz-copy-source-if-`
 */
export function checkRead(
  headers: RequestHeaders,
  { etag, time }: Pick<StoredObject, "etag" | "time">,
  prefix = "if-",
): Precondition {
  const seconds = Math.floor(time / 1000) * 1000;
  const match = headers.get(`${prefix}match`);
  const unmodifiedSince = dateOf(headers.get(`${prefix}unmodified-since`));
  if (match !== undefined) {
    if (!includes(match, etag)) return "failed";
  } else if (unmodifiedSince !== undefined && seconds > unmodifiedSince) return "failed";
  const noneMatch = headers.get(`${prefix}none-match`);
  const modifiedSince = dateOf(headers.get(`${prefix}modified-since`));
  if (noneMatch !== undefined) {
    if (includes(noneMatch, etag)) return "not-modified";
  } else if (modifiedSince !== undefined && seconds <= modifiedSince) return "not-modified";
  return "ok";
}

/** The condition of a write to an object; undefined if there is none. Throws S3Error `NotImplemented`. */
export function writeCondition(headers: RequestHeaders): Condition | undefined {
  const match = headers.get("if-match");
  const noneMatch = headers.get("if-none-match");
  if (noneMatch !== undefined && noneMatch.trim() !== "*") {
    throw notImplemented("If-None-Match of a write must be *.");
  }
  if (match !== undefined && noneMatch !== undefined) {
    throw notImplemented("If-Match and If-None-Match of a write exclude each other.");
  }
  if (match !== undefined) return { ifMatch: etagsOf(match) };
  return noneMatch === undefined ? undefined : { ifNoneMatch: ["*"] };
}

/** The condition of DELETE; undefined if there is none. Throws S3Error `InvalidArgument`. */
export function deleteCondition(headers: RequestHeaders): Condition | undefined {
  const match = headers.get("if-match");
  const time = headers.get("x-amz-if-match-last-modified-time");
  const size = headers.get("x-amz-if-match-size");
  if (match === undefined && time === undefined && size === undefined) return undefined;
  const ifTime = dateOf(time);
  if (
    (time !== undefined && ifTime === undefined) ||
    (size !== undefined && !/^\d{1,15}$/u.test(size))
  ) {
    throw new S3Error("InvalidArgument", "The condition is not valid.");
  }
  return {
    ...(match !== undefined && { ifMatch: etagsOf(match) }),
    ...(ifTime !== undefined && { ifTime }),
    ...(size !== undefined && { ifSize: Number(size) }),
  };
}

/** Whether the range of a request is still to be used, by `If-Range`. */
export function isRangeCurrent(
  headers: RequestHeaders,
  { etag, time }: Pick<StoredObject, "etag" | "time">,
): boolean {
  const value = headers.get("if-range");
  if (value === undefined) return true;
  const date = dateOf(value);
  return date === undefined ? includes(value, etag) : Math.floor(time / 1000) * 1000 <= date;
}

function includes(list: string, etag: string): boolean {
  return etagsOf(list).some((item) => item === "*" || item === etag);
}

/** ETags of a list, without quotes. ETags of S3 have no commas. */
function etagsOf(list: string): readonly string[] {
  return list.split(",").map((item) =>
    item
      .trim()
      .replace(/^W\//u, "")
      .replace(/^"(.*)"$/u, "$1"),
  );
}

/** Milliseconds since 1970. A date that cannot be read is no condition, as in RFC 9110. */
function dateOf(text: string | undefined): number | undefined {
  const time = text === undefined || /^"|^W\//u.test(text) ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
