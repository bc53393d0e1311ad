import type { AuthenticatedRequest } from "../../src/signature/authentication.ts";
import { authenticate } from "../../src/signature/authenticate.ts";
import { createHash, createHmac } from "node:crypto";
import { parseRequest } from "../../src/signature/request.ts";

export const ACCESS_KEY = "AKIAIOSFODNN7EXAMPLE";
export const SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
export const NOW: number = Date.UTC(2026, 1, 3, 12);
export const AMZ_DATE = "20260203T120000Z";
export const EMPTY_SHA256: string = sha256("");
export const SCOPE = "20260203/us-east-1/s3/aws4_request";

export const findSecret = (accessKey: string): string | undefined =>
  accessKey === ACCESS_KEY ? SECRET : undefined;

export interface TestRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface TestOptions {
  readonly now?: number;
  readonly region?: string;
  readonly hostBucket?: string;
}

/** Parses and authenticates. */
export function accept(request: TestRequest, options: TestOptions = {}): AuthenticatedRequest {
  const raw = { ...request, rawHeaders: request.headers.flat() };
  return authenticate(parseRequest(raw), { findSecret, now: NOW, ...options });
}

export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

export function hmac(key: string | Uint8Array, data: string): Buffer {
  return createHmac("sha256", key).update(data).digest();
}

/** The key of `SCOPE`, written out as in the documentation. */
export function keyOf(secret: string): Buffer {
  return hmac(hmac(hmac(hmac(`AWS4${secret}`, "20260203"), "us-east-1"), "s3"), "aws4_request");
}

/**
 * Signs a request in its header, byte by byte as it is given: for requests that no client's library
 * would send. `rawPath` must be as V4 has it, and `query` sorted and encoded.
 */
export function signed(
  method: string,
  rawPath: string,
  query: string,
  headers: Readonly<Record<string, string>>,
  left: readonly string[] = [],
): TestRequest {
  const all = { host: "127.0.0.1:9000", "x-amz-date": AMZ_DATE, ...headers };
  const payload = all["x-amz-content-sha256" as keyof typeof all] ?? EMPTY_SHA256;
  const lines = Object.entries({ "x-amz-content-sha256": payload, ...all })
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const signedLines = lines.filter(([name]) => !left.includes(name));
  const names = signedLines.map(([name]) => name).join(";");
  const canonical = [
    method,
    rawPath,
    query,
    ...signedLines.map(([name, value]) => `${name}:${value}`),
    "",
    names,
    payload,
  ].join("\n");
  const text = ["AWS4-HMAC-SHA256", AMZ_DATE, SCOPE, sha256(Buffer.from(canonical, "latin1"))];
  const signature = hmac(keyOf(SECRET), text.join("\n")).toString("hex");
  const authorization = `AWS4-HMAC-SHA256 Credential=${ACCESS_KEY}/${SCOPE}, SignedHeaders=${names}, Signature=${signature}`;
  return {
    method,
    target: query === "" ? rawPath : `${rawPath}?${query}`,
    headers: [...lines, ["Authorization", authorization]],
  };
}

/** The same request with one header changed, added or, if undefined, removed. */
export function withHeader(
  request: TestRequest,
  name: string,
  value: string | undefined,
): TestRequest {
  const others = request.headers.filter(([other]) => other.toLowerCase() !== name.toLowerCase());
  return { ...request, headers: value === undefined ? others : [...others, [name, value]] };
}
