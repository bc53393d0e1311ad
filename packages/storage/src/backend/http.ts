import { throwIfAborted } from "../abort.ts";
import { StorageError, usage } from "../errors.ts";
import { type Backend, type BlobInfo, isBlobName } from "./backend.ts";
import { blobInfo, rangeHeader, readRange, readWhole } from "./http/read-blob.ts";
import {
  checkedHeaders,
  checkedUrl,
  type Client,
  type HttpMethod,
  sendTo,
  type Target,
} from "./http/request.ts";
import { discardBody, type HttpResponse } from "./http/response.ts";
import { checkedTimeouts, type Timeouts } from "./http/timeouts.ts";

export type { HttpMethod } from "./http/request.ts";

/** Options of `http`: a server with one URL below which the blobs lie, or a function that signs. */
export type HttpOptions = UrlOptions | SignOptions;

interface CommonOptions {
  /** By default the runtime's own, looked up for each request. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** As for object stores; `connect` does not apply, because `fetch` does not tell it apart. */
  readonly timeouts?: Pick<Timeouts, "firstByte" | "stall"> | undefined;
}

/** Options of `http` for a server that has each blob at its name below one URL. */
export interface UrlOptions extends CommonOptions {
  /**
   * Each blob is at `URL/NAME`, as in a bucket. An http: or https: URL without credentials, query
   * and fragment; in browsers it may be relative to the page.
   */
  readonly url: string | URL;
  /** Sent with each request to this URL, such as a token of the session, and to no other. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly sign?: undefined;
}

/** Options of `http` for URLs that a function signs. */
export interface SignOptions extends CommonOptions {
  /**
   * Called for each request. Returns a URL for this method and blob, such as a presigned one, with
   * the headers that the request has to have, if any (a `Request` has both). Returns undefined if
   * the caller is not allowed to make the request.
   *
   * If the headers contain `If-None-Match: *`, a put of a blob that exists succeeds and changes
   * nothing.
   */
  readonly sign: (
    name: string,
    method: HttpMethod,
    details: SignDetails,
  ) => SignedUrl | Promise<SignedUrl>;
  readonly url?: undefined;
  readonly headers?: undefined;
}

/** What a signer returns. */
export type SignedUrl =
  | string
  | URL
  | { readonly url: string | URL; readonly headers?: HeadersInit | undefined }
  | undefined;

/** What a signer may use besides name and method. */
export interface SignDetails {
  /** Bytes of the blob to be stored; undefined unless the method is PUT. */
  readonly size: number | undefined;
  /** Fires if the URL is no longer needed. */
  readonly signal: AbortSignal;
}

/**
 * Reads and writes blobs by the `fetch` of the runtime: over any HTTP server that has GET and PUT, or
 * over presigned URLs. For browsers, workers, and other clients without keys of the store. It cannot
 * list. Redirects are not followed, and cookies are sent to the page's own origin only.
 *
 * @example
 *     http({ url: "https://files.example/blobs", headers: { authorization: `Bearer ${token}` } });
 *     http({
 *       sign: async (name, method) => {
 *         const response = await fetch(`/sign/${method}/${name}`, { method: "POST" });
 *         return response.ok ? response.text() : undefined;
 *       },
 *     });
 *
 * @throws StorageError `usage` if the options are malformed
 */
export function http(options: HttpOptions): Backend {
  const { firstByte, stall } = checkedTimeouts(options.timeouts);
  const client: Client = {
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    timeouts: { firstByte, stall },
  };
  const { description, describe, target } = options.sign ? overSigner(options) : overUrl(options);

  const open = (
    name: string,
    method: HttpMethod,
    action: string,
    signal: AbortSignal | undefined,
    size?: number,
  ) => {
    // Any other name could lead to another path.
    if (!isBlobName(name)) throw usage("a blob's name must be 64 lowercase hexadecimal digits");
    const request = { method, action: `${action} ${describe(name)}`, signal };
    const find = (signal: AbortSignal) => target(name, method, { size, signal });
    return { request, find };
  };
  const failing = () => undefined;

  return {
    description,
    async put(name, body, { signal } = {}) {
      const { request, find } = open(name, "PUT", "store", signal, body.length);
      await sendTo<unknown>(
        client,
        { ...request, body },
        find,
        discardBody,
        // The blob exists, and is not to be replaced.
        ({ status }, sent) => (status === 412 && sent.has("if-none-match") ? "exists" : undefined),
      );
    },
    async get(name, buffer, { signal, onReceived } = {}) {
      const { request, find } = open(name, "GET", "read", signal);
      const read = (body: HttpResponse) => readWhole(buffer, body, request.action, onReceived);
      return sendTo(client, request, find, read, failing);
    },
    async getRange(name, offset, buffer, { signal } = {}) {
      const { request, find } = open(name, "GET", "read", signal);
      return sendTo(
        client,
        { ...request, headers: rangeHeader(offset, buffer) },
        find,
        (body) => readRange(buffer, offset, body, request.action),
        // The range begins at or beyond the end of the blob.
        ({ status }) => (status === 416 ? 0 : undefined),
      );
    },
    async head(name, { signal } = {}) {
      const { request, find } = open(name, "HEAD", "stat", signal);
      const info = await sendTo<BlobInfo | "missing">(
        client,
        request,
        find,
        async (response) => blobInfo(await discardBody(response), request.action),
        ({ status, code }) => (status === 404 && code !== "NoSuchBucket" ? "missing" : undefined),
      );
      return info === "missing" ? undefined : info;
    },
    async delete(name, { signal } = {}) {
      const { request, find } = open(name, "DELETE", "delete", signal);
      await sendTo<unknown>(client, request, find, discardBody, ({ status, code }) =>
        status === 404 && code !== "NoSuchBucket" ? "missing" : undefined,
      );
    },
    // oxlint-disable-next-line require-yield
    async *list(_, { signal } = {}) {
      throwIfAborted(signal);
      throw new StorageError(
        "permission",
        "cannot list blobs: there is no listing over plain HTTP; keep their addresses, or list where the store can be opened with its own backend",
      );
    },
  };
}

interface Targets {
  readonly description: string;
  /** A blob as it appears in messages. */
  describe(name: string): string;
  target(name: string, method: HttpMethod, details: SignDetails): Promise<Target | undefined>;
}

function overUrl(options: UrlOptions): Targets {
  const base = checkedUrl(options.url);
  if (base.search !== "" || base.hash !== "") {
    throw usage("the URL must have no query and no fragment; pass `sign` for signed URLs");
  }
  const headers = checkedHeaders(options.headers);
  const root = base.href.replace(/\/*$/u, "/");
  return {
    description: `http ${root}`,
    describe: (name) => `the blob ${root}${name}`,
    target: async (name) => ({ url: `${root}${name}`, headers }),
  };
}

function overSigner({ sign }: SignOptions): Targets {
  if (typeof sign !== "function") throw usage("pass `url`, or `sign` as a function");
  return {
    description: "http with signed URLs",
    describe: (name) => `the blob ${name}`,
    async target(name, method, details) {
      const signed = await sign(name, method, details);
      return typeof signed === "string" || signed instanceof URL ? { url: signed } : signed;
    },
  };
}
