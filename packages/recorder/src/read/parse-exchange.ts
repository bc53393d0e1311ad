import type { Exchange } from "../record/exchange.ts";

/*
 * Lines of a segment come from whoever knows a recipient, so that nothing about them is taken for
 * granted. Members that this version does not know are kept.
 */

/**
 * Parses a line of a segment.
 *
 * @returns undefined if it is not an exchange
 */
export function parseExchange(line: string): Exchange | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  return isExchange(value) ? value : undefined;
}

type Members = Readonly<Record<string, unknown>>;

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u;
const ENDED = new Set<unknown>([undefined, "aborted", "error", "open", "unread"]);

function isExchange(value: unknown): value is Exchange {
  if (!isMembers(value)) return false;
  const { id, time, ms, direction, route, ended, request, response } = value;
  return (
    typeof id === "string" &&
    typeof time === "string" &&
    TIME.test(time) &&
    !Number.isNaN(Date.parse(time)) &&
    typeof ms === "number" &&
    (direction === "in" || direction === "out") &&
    isOptionalText(route) &&
    ENDED.has(ended) &&
    isRequest(request) &&
    (response === undefined || isResponse(response))
  );
}

function isRequest(value: unknown): boolean {
  if (!isMembers(value)) return false;
  const { method, url, http, headers, body } = value;
  const isText = typeof method === "string" && typeof url === "string" && isOptionalText(http);
  return isText && isHeaders(headers) && isBody(body);
}

function isResponse(value: unknown): boolean {
  if (!isMembers(value)) return false;
  const { status, reason, headers, body } = value;
  const isStatus = Number.isSafeInteger(status) && (status as number) >= 0;
  return isStatus && isOptionalText(reason) && isHeaders(headers) && isBody(body);
}

function isHeaders(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(
      (header: unknown) =>
        Array.isArray(header) &&
        header.length === 2 &&
        header.every((part: unknown) => typeof part === "string"),
    )
  );
}

function isBody(value: unknown): boolean {
  if (value === undefined) return true;
  if (!isMembers(value)) return false;
  const { size, type, text, base64, cut, why } = value;
  return (
    Number.isSafeInteger(size) &&
    (size as number) >= 0 &&
    [type, text, base64, why].every(isOptionalText) &&
    (cut === undefined || cut === true)
  );
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}
