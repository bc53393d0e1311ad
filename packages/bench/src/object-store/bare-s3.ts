/** S3 requests with only a signature and `fetch`: the upper bound for any client. */
import { createHash, createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ObjectStoreAccess } from "../suite.ts";

export interface BareS3 {
  /** @param sha256 of the bytes as 64 hex digits */
  put(name: string, bytes: Uint8Array<ArrayBuffer>, sha256: string): Promise<void>;
  /** @returns the number of bytes read into the buffer */
  get(name: string, buffer: Uint8Array): Promise<number>;
  head(name: string): Promise<Headers>;
  /**
   * The names of at most 1,000 objects behind one, in the order of the server. With a delimiter, those of
   * common prefixes follow them.
   */
  list(after: string, delimiter?: string): Promise<string[]>;
  /** The path and the signed headers of a request for an object, whose body is not signed. */
  sign(method: "GET" | "PUT", name: string): Signed;
  createBucket(): Promise<void>;
  /** The bucket must be empty. */
  deleteBucket(): Promise<void>;
}

/** What a request has before its body. */
export interface Signed {
  readonly path: string;
  /** Without `host`. */
  readonly headers: Readonly<Record<string, string>>;
}

const EMPTY = createHash("sha256").digest("hex");

/**
 * Requests for objects below the prefix.
 *
 * @param checksums whether the server verifies and stores a checksum, for which it hashes a second time;
 *   not sent to B2, some of whose clusters reject it
 * @param attempts if the server is busy (503): by default one, and eight on B2, which rejects requests in
 *   normal operation
 * @throws Error with the response of the server if a request fails
 */
export function bareS3(
  access: ObjectStoreAccess,
  {
    checksums = false,
    attempts = access.provider === "b2" ? 8 : 1,
  }: { readonly checksums?: boolean; readonly attempts?: number } = {},
): BareS3 {
  const { endpoint, region, bucket, prefix, accessKeyId, secretAccessKey, provider } = access;
  const { host } = new URL(endpoint);
  const hmac = (key: string | Buffer, text: string): Buffer =>
    createHmac("sha256", key).update(text).digest();
  // Enough for the names of suites: Signature Version 4 also wants !'()* encoded.
  const pathOf = (name: string): string =>
    `/${bucket}/${encodeURIComponent(prefix + name).replaceAll("%2F", "/")}`;

  /** AWS Signature Version 4 for an encoded path and query. */
  const headersFor = (
    method: string,
    path: string,
    payload: string,
    query = "",
  ): Record<string, string> => {
    const now = new Date().toISOString().replaceAll(/[-:]|\.\d+/gu, "");
    const headers = {
      ...(checksums &&
        method === "PUT" &&
        provider !== "b2" && {
          "x-amz-checksum-sha256": Buffer.from(payload, "hex").toString("base64"),
        }),
      "x-amz-content-sha256": payload,
      "x-amz-date": now,
    };
    const signed = Object.entries({ host, ...headers });
    const names = signed.map(([name]) => name).join(";");
    const values = signed.map(([name, value]) => `${name}:${value}\n`).join("");
    const request = [method, path, query, values, names, payload].join("\n");
    const digest = createHash("sha256").update(request).digest("hex");
    const scope = [now.slice(0, 8), region, "s3", "aws4_request"];
    const key = scope.reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
    const signature = hmac(key, ["AWS4-HMAC-SHA256", now, scope.join("/"), digest].join("\n"));
    return {
      ...headers,
      authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope.join("/")}, SignedHeaders=${names}, Signature=${signature.toString("hex")}`,
    };
  };

  const send = async (
    method: "GET" | "PUT" | "HEAD" | "DELETE",
    path: string,
    body?: Uint8Array<ArrayBuffer>,
    sha256: string = EMPTY,
    query = "",
  ): Promise<Response> => {
    const url = endpoint + path + (query && `?${query}`);
    for (let attempt = 1; ; attempt++) {
      const headers = headersFor(method, path, sha256, query);
      const response = await fetch(url, { method, headers, ...(body && { body }) });
      if (response.ok) return response;
      const text = await response.text();
      if (attempt === attempts || response.status !== 503) {
        throw new Error(`${method} failed with ${response.status}: ${text}`);
      }
      await sleep(500 * 2 ** attempt);
    }
  };
  const sendAndDrain = async (...call: Parameters<typeof send>): Promise<void> => {
    await (await send(...call)).arrayBuffer();
  };

  return {
    put: (name, bytes, sha256) => sendAndDrain("PUT", pathOf(name), bytes, sha256),
    async get(name, buffer) {
      const { body } = await send("GET", pathOf(name));
      let length = 0;
      for await (const piece of body ?? []) {
        buffer.set(piece, length);
        length += piece.length;
      }
      return length;
    },
    head: async (name) => (await send("HEAD", pathOf(name))).headers,
    async list(after, delimiter) {
      const given = {
        // In the order in which they are signed.
        ...(delimiter !== undefined && { delimiter }),
        "list-type": "2",
        prefix,
        "start-after": prefix + after,
      };
      const query = Object.entries(given)
        .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
        .join("&");
      const text = await (await send("GET", `/${bucket}`, undefined, EMPTY, query)).text();
      // The names of suites have nothing that XML writes in another way.
      return Array.from(text.matchAll(/<(?:Key|CommonPrefixes><Prefix)>([^<]*)</gu), ([, name]) =>
        name!.slice(prefix.length),
      );
    },
    sign(method, name) {
      const path = pathOf(name);
      return { path, headers: headersFor(method, path, "UNSIGNED-PAYLOAD") };
    },
    createBucket: () => sendAndDrain("PUT", `/${bucket}`),
    deleteBucket: () => sendAndDrain("DELETE", `/${bucket}`),
  };
}
