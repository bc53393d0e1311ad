import { StorageError } from "../../errors.ts";
import { foreignCause, foreignText } from "../../text.ts";
import { decodeEntities } from "./entities.ts";
import type { ErrorMeaning } from "./error-codes.ts";
import { type HttpResponse, readErrorText } from "./response.ts";

/** An error response, reduced to what may be shown: no headers or URLs of the request. */
export interface ErrorResponse {
  readonly status: number;
  /** The server's error code, such as `NoSuchKey`; empty if there is none. */
  readonly code: string;
  readonly message: string;
  /** A header of the response. */
  header(name: string): string | null;
}

/** Reads an error response, of a long one the beginning. */
export async function errorResponse(response: HttpResponse): Promise<ErrorResponse> {
  const { status, headers } = response;
  const text = await readErrorText(response);
  const element = (name: string): string | undefined => {
    // Error responses are flat, short and often not XML at all.
    const [, found] = new RegExp(`<${name}>([^<]*)</${name}>`, "u").exec(text) ?? [];
    return found === undefined ? undefined : decodeEntities(found);
  };
  return {
    status,
    // A response to HEAD has no body, so MinIO repeats code and message in headers.
    code: element("Code") ?? headers.get("x-minio-error-code") ?? "",
    message: element("Message") ?? headers.get("x-minio-error-desc") ?? "",
    header: (name) => headers.get(name),
  };
}

/**
 * Converts an error response.
 *
 * @param action what was attempted and on what, to follow "cannot"
 */
export function responseError(
  { status, code, message, header }: ErrorResponse,
  action: string,
  { explanation, ...meaning }: ErrorMeaning,
): StorageError {
  const original = foreignText([status, code, foreignText(message)].filter(Boolean).join(" "));
  const text = `cannot ${action}: ${explanation ?? `the store responded ${original}`}`;
  return new StorageError(meaning.code, text, {
    // Without an explanation, the message already contains the original.
    cause: explanation === undefined ? undefined : new Error(original),
    transient: meaning.transient ?? false,
    retryAfterMs: code === STARTING ? undefined : retryAfter(header("retry-after")),
  });
}

/**
 * A MinIO that is starting. It requests a delay of a minute, which is as long as the default retry
 * budget, but is ready much sooner.
 */
const STARTING = "XMinioServerNotInitialized";

/** Milliseconds from a `Retry-After` header, which contains seconds or a date. */
function retryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const ms = /^\d+$/u.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** What Bun and Node report if a TLS handshake fails, because the server does not use TLS or else. */
export const TLS_HANDSHAKE: RegExp =
  /^(?:EPROTO|ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG))$/u;

const UNTRUSTED_CERTIFICATE = /CERT|SELF_SIGNED|ERR_TLS|UNABLE_TO_VERIFY|ERR_SSL/u;

/**
 * Connection failures that may be transient, by the names that the system, `fetch` and the HTTP
 * parsers of Node and Bun use.
 */
const NETWORK =
  /^(?:E(?:CONN|HOST|NET|AI_)\w+|E(?:PIPE|TIMEDOUT|NOTFOUND|ADDRNOTAVAIL|PROTO|MFILE|NFILE|NOBUFS)|HPE_\w+|UND_ERR_(?:SOCKET|CLOSED|DESTROYED|\w+_(?:TIMEOUT|MISMATCH))|ERR_STREAM_PREMATURE_CLOSE|Connection\w+|FailedToOpenSocket|Timeout|Malformed_HTTP_Response)$/u;

const NAME_RESOLUTION = /^E(?:AI_\w+|NOTFOUND)$/u;

/** The messages of `fetch` errors that have no code. */
const FETCH_FAILED = /^(?:fetch failed|terminated)$/u;

/** An exception of `fetch`, without what it wraps. */
export interface Failure {
  readonly name: string;
  readonly code: string;
  readonly text: string;
}

/** Node's `fetch` wraps the system's error. */
export function innermost(error: unknown): Failure {
  if (!(error instanceof Error)) return { name: "", code: "", text: foreignText(String(error)) };
  if (error.cause instanceof Error && !("code" in error)) return innermost(error.cause);
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return { name: error.name, code, text: foreignText(error.message) };
}

/** Whether `fetch` failed at the server's certificate or at TLS itself. */
export function isTlsFailure({ code }: Failure): boolean {
  return UNTRUSTED_CERTIFICATE.test(code);
}

/**
 * Converts an exception of `fetch`: no complete response arrived, or the request could not be sent.
 *
 * @param action what was attempted and on what, to follow "cannot"
 * @param server `HOST:PORT`, or what it is if that is not known
 * @param cause the exception as it may be logged
 * @returns undefined if it is neither a failure of the connection nor of the request
 */
export function fetchError(
  error: unknown,
  action: string,
  server: string,
  cause: unknown = foreignCause(error),
): StorageError | undefined {
  const failure = innermost(error);
  const { name, code } = failure;
  const shown = foreignText(code || name);
  const fail = (explanation: string, transient: boolean): StorageError =>
    new StorageError("unavailable", `cannot ${action}: ${explanation}`, { cause, transient });
  if (TLS_HANDSHAKE.test(code)) {
    return fail(
      `the TLS handshake with ${server} failed (${code}); check that the server uses TLS on this port, or turn TLS off`,
      true,
    );
  }
  if (isTlsFailure(failure)) {
    return fail(
      `the certificate of ${server} is not trusted (${shown}); check the host name, or name the file of its CA in NODE_EXTRA_CA_CERTS`,
      false,
    );
  }
  if (code === "ECONNREFUSED") {
    return fail(
      `${server} refused the connection (${code}); check the host and the port, and that the server runs`,
      true,
    );
  }
  if (NAME_RESOLUTION.test(code)) {
    return fail(
      `the host name of ${server} cannot be resolved (${code}); check the host name and the network`,
      true,
    );
  }
  const fetchFailed = code === "" && error instanceof TypeError && FETCH_FAILED.test(error.message);
  if (NETWORK.test(code) || fetchFailed || name === "TimeoutError") {
    return fail(`the connection to ${server} failed (${shown}); try again`, true);
  }
  if (error instanceof TypeError || name === "TypeError") {
    return new StorageError("unavailable", `cannot ${action}: the request could not be sent`, {
      cause: withoutMessage(error),
    });
  }
  return undefined;
}

/** Keeps the stack. The message may quote a header or a URL, and with it a secret. */
export function withoutMessage(error: unknown): Error {
  const { name, stack = "" } = error instanceof Error ? error : new Error();
  const frames = stack.split("\n").filter((line) => /^\s+at /u.test(line));
  const bare = new Error(name);
  bare.stack = [name, ...frames].join("\n");
  return bare;
}
