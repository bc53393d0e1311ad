import { decodePercent, encodeName, encodePath } from "./percent.ts";
import type { RequestHeaders } from "./request.ts";

/**
 * The paths that a client may have signed: encoded as AWS says, and as sent, because some clients
 * encode fewer or more characters than that, and sign what they send.
 */
export function canonicalPaths(rawPath: string): readonly string[] {
  if (UNCHANGED.test(rawPath)) return [rawPath];
  const encoded = encodePath(decodePercent(rawPath));
  return encoded === rawPath ? [encoded] : [encoded, rawPath];
}

/** Paths that encoding leaves as they are. */
const UNCHANGED = /^[A-Za-z0-9\-._~/]*$/u;

/** @param without a parameter to leave out: the signature */
export function canonicalQuery(query: ReadonlyMap<string, string>, without?: string): string {
  const pairs: (readonly [name: string, value: string])[] = [];
  for (const [name, value] of query) {
    if (name !== without) pairs.push([encodeName(utf8(name)), encodeName(utf8(value))]);
  }
  // By code unit, which is by byte: all is ASCII. Names differ.
  pairs.sort(([a], [b]) => (a < b ? -1 : 1));
  return pairs.map(([name, value]) => `${name}=${value}`).join("&");
}

/**
 * The signed headers, a line for each, Latin-1.
 *
 * @returns undefined if one of them is missing
 */
export function canonicalHeaders(
  headers: RequestHeaders,
  signedHeaders: readonly string[],
): string | undefined {
  let text = "";
  for (const name of signedHeaders) {
    const value = headers.get(name);
    if (value === undefined) return undefined;
    text += `${name}:${value.replaceAll(/[ \t]+/gu, " ")}\n`;
  }
  return text;
}

const encoder = new TextEncoder();

function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}
