import { aborted, throwIfAborted, untilAborted } from "../../abort.ts";
import { StorageError, usage } from "../../errors.ts";
import { startDeadline } from "./deadline.ts";
import { type ErrorResponse, errorResponse } from "./errors.ts";
import { inBrowser, noResponse, refusal, signingError } from "./refusals.ts";
import { type HttpResponse, receive, requireUncompressed } from "./response.ts";
import { firstByteMs } from "./timeouts.ts";

/** The methods that a backend over HTTP needs. */
export type HttpMethod = "GET" | "HEAD" | "PUT" | "DELETE";

/** Where one request goes. */
export interface Target {
  readonly url: string | URL;
  /** Sent with the request, such as headers that are signed. */
  readonly headers?: HeadersInit | undefined;
}

export interface BlobRequest {
  readonly method: HttpMethod;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** What the request does and to what, to follow "cannot" in messages. */
  readonly action: string;
  readonly signal: AbortSignal | undefined;
}

export interface Client {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly timeouts: { readonly firstByte: number; readonly stall: number };
}

/** Set by `fetch`, or not allowed to be set. */
const OWN_HEADERS = ["host", "content-length", "connection"];

/**
 * Sends one request and reads the response. Redirects are not followed, because the headers and the
 * body are meant for the requested host only.
 *
 * @param target finds out where the request goes; undefined if it is not allowed
 * @param read processes the response; its exceptions count as failures of the connection
 * @param onError handles an error response, or returns undefined to have it thrown
 */
export async function sendTo<T>(
  client: Client,
  { method, headers = {}, body, action, signal }: BlobRequest,
  target: (signal: AbortSignal) => Promise<Target | undefined>,
  read: (response: HttpResponse) => Promise<T>,
  onError: (response: ErrorResponse, sent: Headers) => T | undefined,
): Promise<T> {
  throwIfAborted(signal);
  const { firstByte, stall } = client.timeouts;
  const deadline = startDeadline(
    signal,
    firstByteMs(firstByte, body?.length ?? 0),
    action,
    "the server",
  );
  let host = "the server";
  let arrived = false;
  try {
    const found = await untilAborted(signed(target(deadline.signal), action), deadline.signal);
    if (found === undefined) {
      throw new StorageError("permission", `cannot ${action}: no URL is signed for ${method}`);
    }
    const url = checkedUrl(found.url);
    host = url.host;
    const sent = new Headers(checkedHeaders(found.headers));
    for (const name of OWN_HEADERS) sent.delete(name);
    for (const [name, value] of Object.entries(headers)) sent.set(name, value);
    const response = await client.fetch(url.href, {
      method,
      headers: sent,
      // A copy, because after an abort a runtime may read on when the caller changes the bytes.
      ...(body === undefined ? {} : { body: new Uint8Array(body) }),
      redirect: "manual",
      signal: deadline.signal,
      ...perRuntime(sent),
    });
    arrived = true;
    requireUncompressed(response, method);
    const received = receive(response, method, deadline, stall, false);
    if (response.ok) return await read(received);
    const error = await errorResponse(received);
    const result = onError(error, sent);
    if (result !== undefined) return result;
    throw refusal(error, { method, host, action });
  } catch (error) {
    if (signal?.aborted) throw aborted(signal);
    if (deadline.error !== undefined) throw deadline.error;
    if (error instanceof StorageError) throw error;
    throw noResponse(error, { method, host, action }, arrived);
  } finally {
    deadline.end();
  }
}

/** What `fetch` has to be told in browsers alone, or elsewhere alone. */
function perRuntime(headers: Headers): RequestInit {
  if (inBrowser()) {
    // A damaged blob is read again, and must then not come from a cache.
    return { credentials: "same-origin", referrerPolicy: "no-referrer", cache: "no-store" };
  }
  // A compressed response would not have the announced length. Bun decompresses it all the same.
  headers.set("accept-encoding", "identity");
  return { decompress: false } as RequestInit;
}

async function signed<T>(signing: Promise<T>, action: string): Promise<T> {
  return signing.catch((error: unknown) => {
    throw signingError(error, action);
  });
}

/**
 * A URL to which requests can go. In a browser it may be relative to the page.
 *
 * @throws StorageError `usage`, without the URL, which can be a secret
 */
export function checkedUrl(text: string | URL): URL {
  const base = inBrowser() ? globalThis.location.href : undefined;
  const url = URL.canParse(text, base) ? new URL(text, base) : undefined;
  if (url === undefined || !/^https?:$/u.test(url.protocol)) {
    throw usage("the URL must be https://HOST/PATH or http://HOST/PATH");
  }
  if (url.username !== "" || url.password !== "") {
    throw usage("the URL must not contain a user or password; pass headers instead");
  }
  return url;
}

/** @throws StorageError `usage`, without the headers, which can be secrets */
export function checkedHeaders(given: HeadersInit | undefined): Headers {
  try {
    return new Headers(given);
  } catch {
    throw usage("the headers are malformed: check their names, and their values for line breaks");
  }
}
