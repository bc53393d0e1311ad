import { toHex, utf8 } from "../../../bytes.ts";
import { hmac, sha256 } from "../../../crypto/hash.ts";
import type { Credentials } from "../bucket-config.ts";

/** What a signature covers. */
interface Signable {
  readonly method: string;
  /** Percent-encoded, as is the query, whose parameters are in the order of their names. */
  readonly path: string;
  readonly query: string;
  readonly host: string;
  /** By lower-case name, without those that a signature adds. */
  readonly headers: Readonly<Record<string, string>>;
  /** The SHA-256 of the body. */
  readonly sha256: string;
}

/**
 * Signs a request, and returns its headers, but not the host, which `fetch` sets from the URL, and which some
 * runtimes reject as a header.
 */
type Sign = (request: Signable, credentials: Credentials, time: Date) => Record<string, string>;

/**
 * AWS Signature Version 4 in headers, for S3, which signs paths as they are sent. The SDK's signer takes
 * several times as long.
 */
export function createSigner(region: string): Sign {
  const keyOf = signingKeys(region);
  const scopeAt = scopes(region);
  return ({ method, path, query, host, headers: given, sha256 }, credentials, time) => {
    const { accessKeyId, secretAccessKey, sessionToken } = credentials;
    const { moment, date, scope } = scopeAt(time);
    const headers: Record<string, string> = {
      ...given,
      "x-amz-content-sha256": sha256,
      "x-amz-date": moment,
    };
    if (sessionToken) headers["x-amz-security-token"] = sessionToken;
    const names = ["host", ...Object.keys(headers)].toSorted();
    let lines = "";
    for (const name of names) lines += `${name}:${canonicalValue(headers[name] ?? host)}\n`;
    const signed = names.join(";");
    const canonical = `${method}\n${path}\n${query}\n${lines}\n${signed}\n${sha256}`;
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
  const { moment, date, scope } = scopes(region)(time);
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
  return PLAIN_PATH.test(key) ? key : key.split("/").map(encode).join("/");
}

/** What no encoding changes, as in the names of blobs. */
const PLAIN_PATH = /^[\w.~/-]*$/u;

/** RFC 3986, as signatures require; `encodeURIComponent` leaves five more characters unencoded. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/gu,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

const ALGORITHM = "AWS4-HMAC-SHA256";

/** The keys of a region by secret and day. */
function signingKeys(region: string): (secret: string, date: string) => Uint8Array {
  let latest: { readonly name: string; readonly key: Uint8Array } | undefined;
  return (secret, date) => {
    const name = date + secret;
    if (latest?.name !== name) {
      const parts = [date, region, "s3", "aws4_request"].map(utf8);
      latest = { name, key: parts.reduce((key, part) => hmac(key, part), utf8(`AWS4${secret}`)) };
    }
    return latest.key;
  };
}

interface Scope {
  /** As in `20261231T235959Z`. */
  readonly moment: string;
  readonly date: string;
  readonly scope: string;
}

/** What signatures say of their time: the same for all of a second. */
function scopes(region: string): (time: Date) => Scope {
  let latest: (Scope & { readonly second: number }) | undefined;
  return (time) => {
    const second = Math.floor(time.getTime() / 1000);
    if (latest?.second !== second) {
      const moment = time.toISOString().replaceAll(/[-:]|\.\d+/gu, "");
      const date = moment.slice(0, 8);
      latest = { second, moment, date, scope: `${date}/${region}/s3/aws4_request` };
    }
    return latest;
  };
}

function signatureOf(canonical: string, moment: string, scope: string, key: Uint8Array): string {
  const digest = toHex(sha256(utf8(canonical)));
  return toHex(hmac(key, utf8([ALGORITHM, moment, scope, digest].join("\n"))));
}

function canonicalValue(value: string): string {
  return value.includes(" ") ? value.trim().replaceAll(/ +/gu, " ") : value;
}
