import { createHash, createHmac } from "node:crypto";
import { Agent, request as httpRequest } from "node:http";

/*
 * Requests of S3 as tests form them: those that no client's library would send, and many of them with little
 * work. Written from the documentation of Amazon's signatures, and not from the gateway.
 */

export interface AccessKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** What V4 signs. */
export interface ToSign {
  readonly method: string;
  /** Path and query as they are sent, encoded as V4 encodes them. */
  readonly target: string;
  readonly host: string;
  /** By lower-case name. All of them are signed. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** `x-amz-content-sha256`; by default `UNSIGNED-PAYLOAD`. */
  readonly payload?: string | undefined;
  /** Milliseconds since 1970; by default now. */
  readonly time?: number | undefined;
}

/** Headers with a signature, and what further signatures of the same request need. */
export interface Signed {
  readonly headers: Readonly<Record<string, string>>;
  readonly signature: string;
  /** Signs a chunk or trailer after a signature. */
  readonly signNext: (kind: string, previous: string, ...lines: readonly string[]) => string;
}

export const sha256 = (data: string | Uint8Array): string =>
  createHash("sha256").update(data).digest("hex");
export const md5 = (data: string | Uint8Array): string =>
  createHash("md5").update(data).digest("hex");
export const hmac = (key: string | Uint8Array, text: string): Buffer =>
  createHmac("sha256", key).update(text).digest();

/** Encodes a key, or the value of a parameter, as V4 does. Slashes stay in keys. */
export function encode(text: string | Uint8Array, kept = /[A-Za-z0-9._~/-]/u): string {
  return [...Buffer.from(text as string)]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return kept.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    })
    .join("");
}

export const encodeValue = (text: string): string => encode(text, /[A-Za-z0-9._~-]/u);

export function amzDate(time: number): string {
  return new Date(time).toISOString().replaceAll(/[-:]|\.\d{3}/gu, "");
}

function sortedQuery(query: string): string {
  return query
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => (pair.includes("=") ? pair : `${pair}=`))
    .toSorted()
    .join("&");
}

function signatureKey(secret: string, scope: string): Buffer {
  return scope.split("/").reduce<Buffer>(hmac, Buffer.from(`AWS4${secret}`));
}

/** Signs a request by V4, in headers. */
export function sign(keys: AccessKeys, given: ToSign): Signed {
  const { method, target, host, time = Date.now(), payload = "UNSIGNED-PAYLOAD" } = given;
  const date = amzDate(time);
  const scope = `${date.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const all: Record<string, string> = {
    host,
    "x-amz-date": date,
    "x-amz-content-sha256": payload,
    ...given.headers,
  };
  const names = Object.keys(all).toSorted();
  const [path = "", query = ""] = target.split(/\?(.*)/su, 2);
  const canonical = [
    method,
    path,
    sortedQuery(query),
    ...names.map((name) => `${name}:${all[name]}`),
    "",
    names.join(";"),
    payload,
  ].join("\n");
  const key = signatureKey(keys.secretAccessKey, scope);
  const text = ["AWS4-HMAC-SHA256", date, scope, sha256(canonical)].join("\n");
  const signature = hmac(key, text).toString("hex");
  const credential = `Credential=${keys.accessKeyId}/${scope}`;
  return {
    headers: {
      ...all,
      authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names.join(";")}, Signature=${signature}`,
    },
    signature,
    signNext: (kind, previous, ...lines) =>
      hmac(key, [`AWS4-HMAC-SHA256-${kind}`, date, scope, previous, ...lines].join("\n")).toString(
        "hex",
      ),
  };
}

/** A target that is presigned by V4. @param expires seconds */
export function presign(
  keys: AccessKeys,
  { method, target, host, time = Date.now() }: ToSign,
  expires: number,
): string {
  const date = amzDate(time);
  const scope = `${date.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const [path = "", query = ""] = target.split(/\?(.*)/su, 2);
  const parameters = [
    "X-Amz-Algorithm=AWS4-HMAC-SHA256",
    `X-Amz-Credential=${encodeValue(`${keys.accessKeyId}/${scope}`)}`,
    `X-Amz-Date=${date}`,
    `X-Amz-Expires=${expires}`,
    "X-Amz-SignedHeaders=host",
  ];
  const all = sortedQuery([query, ...parameters].filter((part) => part !== "").join("&"));
  const canonical = [method, path, all, `host:${host}`, "", "host", "UNSIGNED-PAYLOAD"].join("\n");
  const text = ["AWS4-HMAC-SHA256", date, scope, sha256(canonical)].join("\n");
  const signature = hmac(signatureKey(keys.secretAccessKey, scope), text).toString("hex");
  return `${path}?${all}&X-Amz-Signature=${signature}`;
}

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** The code of an error document. */
  readonly code: string | undefined;
  /** Without quotes. */
  readonly etag: string;
}

export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Uint8Array | undefined;
  /** How long the connection may be silent, in ms; by default 120 s. */
  readonly timeoutMs?: number;
}

/** A client that sends signed requests over connections that it keeps. */
export interface S3Requests extends Disposable {
  readonly host: string;
  readonly keys: AccessKeys;
  /** Rejects if there is no whole answer. */
  send(method: string, target: string, options?: SendOptions): Promise<Answer>;
}

export function s3Requests(
  { endpoint, ...keys }: AccessKeys & { readonly endpoint: string },
  agent: Agent | false = new Agent({ keepAlive: true }),
): S3Requests {
  const { hostname, port, host } = new URL(endpoint);
  return {
    host,
    keys,
    async send(method, target, { headers, body, timeoutMs = 120_000 } = {}) {
      const signed = sign(keys, { method, target, host, headers });
      const length = body === undefined ? 0 : Buffer.byteLength(body);
      const hasLength = body !== undefined || method === "PUT" || method === "POST";
      const answer = Promise.withResolvers<Answer>();
      const request = httpRequest({
        hostname,
        port,
        method,
        path: target,
        agent,
        headers: { ...signed.headers, ...(hasLength && { "content-length": length }) },
      });
      request.setTimeout(timeoutMs, () => request.destroy(new Error("no answer in time")));
      request.on("error", answer.reject);
      request.on("response", (response) => {
        const pieces: Uint8Array[] = [];
        response.on("data", (piece: Uint8Array) => pieces.push(piece));
        response.on("error", answer.reject);
        response.on("aborted", () => answer.reject(new Error("the answer was cut off")));
        response.on("end", () => {
          if (!response.complete) return answer.reject(new Error("the answer was cut off"));
          const all = Buffer.concat(pieces);
          const { statusCode: status = 0, headers: received } = response;
          return answer.resolve({
            status,
            headers: received,
            body: all,
            code: status < 300 ? undefined : /<Code>(\w+)<\/Code>/u.exec(all.toString())?.[1],
            etag: (received.etag ?? "").replaceAll('"', ""),
          });
        });
      });
      request.end(body);
      return answer.promise;
    },
    [Symbol.dispose]() {
      if (agent !== false) agent.destroy();
    },
  };
}

/** The texts of all elements of a name, without entities but those of XML. */
export function elements(text: string | Uint8Array, name: string): string[] {
  const found = Buffer.from(text as string)
    .toString()
    .matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "gu"));
  return [...found].map(([, inner = ""]) =>
    inner
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&quot;", '"')
      .replaceAll("&#39;", "'")
      .replaceAll("&apos;", "'")
      .replaceAll("&amp;", "&"),
  );
}
