import { createHash, createHmac } from "node:crypto";
import type { Credentials } from "../bucket-config.ts";

/** What a signature covers. */
interface Signable {
  readonly method: string;
  /** Percent-encoded, as is the query, whose parameters are in the order of their names. */
  readonly path: string;
  readonly query: string;
  /** By lower-case name, with `host` and `x-amz-content-sha256`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Signs a request, and returns all of its headers. */
type Sign = (request: Signable, credentials: Credentials, time: Date) => Record<string, string>;

/**
 * AWS Signature Version 4 in headers, for S3, which signs paths as they are sent. The SDK's signer takes
 * several times as long.
 */
export function createSigner(region: string): Sign {
  const keyOf = signingKeys(region);
  return ({ method, path, query, headers: given }, credentials, time) => {
    const { accessKeyId, secretAccessKey, sessionToken } = credentials;
    const { moment, date, scope } = scopeOf(time, region);
    const headers: Record<string, string> = { ...given, "x-amz-date": moment };
    if (sessionToken) headers["x-amz-security-token"] = sessionToken;
    const names = Object.keys(headers).toSorted();
    const lines = names.map((name) => `${name}:${canonicalValue(headers[name]!)}\n`).join("");
    const signed = names.join(";");
    const payload = headers["x-amz-content-sha256"];
    const canonical = [method, path, query, lines, signed, payload].join("\n");
    const signature = signatureOf(canonical, moment, scope, keyOf(secretAccessKey, date));
    headers["authorization"] =
      `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`;
    return headers;
  };
}

/** Who signs what for how long; the same for all URLs of a presigner. */
export interface PresignSettings {
  readonly region: string;
  readonly credentials: Credentials;
  readonly host: string;
  readonly time: Date;
  /** Seconds. */
  readonly expiresIn: number;
}

/**
 * AWS Signature Version 4 in queries, for GET requests of S3 with no headers to sign but the host.
 *
 * @returns a function that takes a percent-encoded path and returns its query
 */
export function createPresigner({
  region,
  credentials: { accessKeyId, secretAccessKey, sessionToken },
  host,
  time,
  expiresIn,
}: PresignSettings): (path: string) => string {
  const { moment, date, scope } = scopeOf(time, region);
  const key = signingKeys(region)(secretAccessKey, date);
  // In the order of their names, as signatures require.
  const query = queryString({
    "X-Amz-Algorithm": ALGORITHM,
    "X-Amz-Credential": `${accessKeyId}/${scope}`,
    "X-Amz-Date": moment,
    "X-Amz-Expires": String(expiresIn),
    ...(sessionToken ? { "X-Amz-Security-Token": sessionToken } : {}),
    "X-Amz-SignedHeaders": "host",
  });
  return (path) => {
    const canonical = ["GET", path, query, `host:${host}\n`, "host", "UNSIGNED-PAYLOAD"].join("\n");
    return `${query}&X-Amz-Signature=${signatureOf(canonical, moment, scope, key)}`;
  };
}

/** In the order of names, as signatures require. */
export function queryString(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map((pair) => pair.join("="))
    .join("&");
}

export function encodePath(key: string): string {
  return key.split("/").map(encode).join("/");
}

/** RFC 3986, as signatures require; `encodeURIComponent` leaves five more characters unencoded. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/gu,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

const ALGORITHM = "AWS4-HMAC-SHA256";

/** The keys of a region by secret and day. */
function signingKeys(region: string): (secret: string, date: string) => Buffer {
  let latest: { readonly name: string; readonly key: Buffer } | undefined;
  return (secret, date) => {
    const name = date + secret;
    if (latest?.name !== name) {
      const parts = [date, region, "s3", "aws4_request"];
      latest = { name, key: parts.reduce<Buffer>(hmac, Buffer.from(`AWS4${secret}`)) };
    }
    return latest.key;
  };
}

function scopeOf(time: Date, region: string): { moment: string; date: string; scope: string } {
  const moment = time.toISOString().replaceAll(/[-:]|\.\d+/gu, "");
  const date = moment.slice(0, 8);
  return { moment, date, scope: `${date}/${region}/s3/aws4_request` };
}

function signatureOf(canonical: string, moment: string, scope: string, key: Buffer): string {
  const digest = createHash("sha256").update(canonical).digest("hex");
  return hmac(key, [ALGORITHM, moment, scope, digest].join("\n")).toString("hex");
}

function canonicalValue(value: string): string {
  return value.trim().replaceAll(/ +/gu, " ");
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
