import { aborted } from "../../../abort.ts";
import { StorageError } from "../../../errors.ts";
import { foreignCause, foreignText } from "../../../text.ts";
import { type ErrorMeaning, errorMeaning } from "./error-codes.ts";
import { ProxyFailure } from "./send.ts";

/** An error response, reduced to what may be shown: no headers or URLs of the request. */
export interface ErrorResponse {
  readonly status: number;
  /** The server's error code, such as `NoSuchKey`; empty if there is none. */
  readonly code: string;
  readonly message: string;
  /** A header of the response. */
  header(name: string): string | null;
}

/**
 * Converts an error response.
 *
 * @param action what was attempted and on what, to follow "cannot"
 */
export function responseError(
  response: ErrorResponse,
  action: string,
  bucket: string,
): StorageError {
  const { status, code } = response;
  const message = foreignText(response.message);
  const { explanation, ...meaning } =
    contextualMeaning(response, bucket) ?? errorMeaning(status, code, message);
  const original = foreignText([status, code, message].filter(Boolean).join(" "));
  const text = `cannot ${action}: ${explanation ?? `the store responded ${original}`}`;
  return new StorageError(meaning.code, text, {
    // Without an explanation, the message already contains the original.
    cause: explanation === undefined ? undefined : new Error(original),
    transient: meaning.transient ?? false,
    retryAfterMs: code === STARTING ? undefined : retryAfter(response.header("retry-after")),
  });
}

/**
 * A MinIO that is starting. It requests a delay of a minute, which is as long as the default retry
 * budget, but is ready much sooner.
 */
const STARTING = "XMinioServerNotInitialized";

/** The clock skew in ms at which servers reject signatures: 15 minutes on S3 and MinIO. */
const MAX_SKEW_MS = 15 * 60_000;

/** Meanings that depend on more of the response than its code. */
function contextualMeaning(response: ErrorResponse, bucket: string): ErrorMeaning | undefined {
  if (response.code === "NoSuchBucket") {
    return {
      code: "unavailable",
      explanation: `the bucket ${bucket} does not exist; check its name, or create it`,
    };
  }
  const aheadMs = Date.now() - Date.parse(response.header("date") ?? "");
  // A response to HEAD has no code, and some servers have no specific code for clock skew.
  const unexplained =
    response.status === 403 && /^(?:AccessDenied|Forbidden)?$/u.test(response.code);
  if (
    response.code === "RequestTimeTooSkewed" ||
    (unexplained && Math.abs(aheadMs) > MAX_SKEW_MS)
  ) {
    return { code: "permission", explanation: skewExplanation(aheadMs) };
  }
  const region = response.header("x-amz-bucket-region");
  const wrongRegion =
    response.code === "AuthorizationHeaderMalformed" || [301, 308].includes(response.status);
  if (!wrongRegion) return undefined;
  return {
    code: "unavailable",
    explanation: `the bucket ${bucket} is in another region${region ? `, ${foreignText(region)}` : ""}; set region and endpoint accordingly`,
  };
}

function skewExplanation(aheadMs: number): string {
  const seconds = Math.round(aheadMs / 1000);
  const difference = Number.isNaN(seconds)
    ? "differs from the store's"
    : `is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} the store's`;
  return `the clock of this machine ${difference}; set the clock`;
}

/** Milliseconds from a `Retry-After` header, which contains seconds or a date. */
function retryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const ms = /^\d+$/u.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** What Bun and Node report if a server without TLS responds to a TLS handshake. */
const NO_TLS = /^(?:EPROTO|ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG))$/u;

const UNTRUSTED_CERTIFICATE = /CERT|SELF_SIGNED|ERR_TLS|UNABLE_TO_VERIFY|ERR_SSL/u;

/**
 * Connection failures that may be transient, by the names that the system, `fetch` and the HTTP
 * parsers of Node and Bun use.
 */
const NETWORK =
  /^(?:E(?:CONN|HOST|NET|AI_)\w+|E(?:PIPE|TIMEDOUT|NOTFOUND|ADDRNOTAVAIL|PROTO|MFILE|NFILE|NOBUFS)|HPE_\w+|UND_ERR_(?:SOCKET|CLOSED|DESTROYED|\w+_(?:TIMEOUT|MISMATCH))|ERR_STREAM_PREMATURE_CLOSE|Connection\w+|FailedToOpenSocket|Timeout|Malformed_HTTP_Response)$/u;

/** The messages of `fetch` errors that have no code. */
const FETCH_FAILED = /^(?:fetch failed|terminated)$/u;

/**
 * Converts an exception: no complete response arrived, or the request could not be sent. Only
 * network failures are transient; a bug or an invalid option is not.
 *
 * @param action what was attempted and on what, to follow "cannot"
 */
export function exceptionError(
  error: unknown,
  action: string,
  signal: AbortSignal | undefined,
): StorageError {
  if (error instanceof StorageError) return error;
  if (signal?.aborted) return aborted(signal);
  const { name, code, text } = innermost(error);
  const proxy = error instanceof ProxyFailure ? error.proxy : undefined;
  const fail = (
    kind: "permission" | "unavailable" | "usage",
    explanation: string,
    transient = false,
  ) =>
    new StorageError(kind, `cannot ${action}: ${explanation}`, {
      cause: foreignCause(error),
      transient,
    });
  if (/CredentialsProvider|TokenProvider/u.test(name)) {
    return fail("permission", `no credentials found; sign in, or pass them (${text})`);
  }
  if (text === "Region is missing") return fail("usage", "no region is set; set it");
  const failure = foreignText(code || name);
  if (proxy !== undefined && !UNTRUSTED_CERTIFICATE.test(code)) {
    return fail(
      "unavailable",
      `the connection through the proxy ${proxy} failed (${failure}); check the proxy, HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or try again`,
      true,
    );
  }
  if (NO_TLS.test(code)) {
    return fail(
      "unavailable",
      `the TLS handshake failed (${code}); check that the server uses TLS on this port, or turn TLS off`,
      true,
    );
  }
  if (UNTRUSTED_CERTIFICATE.test(code)) {
    return fail("unavailable", `the server's certificate is not trusted (${foreignText(code)})`);
  }
  const fetchFailed = code === "" && error instanceof TypeError && FETCH_FAILED.test(error.message);
  if (NETWORK.test(code) || fetchFailed || name === "TimeoutError") {
    return fail("unavailable", `the connection failed (${failure}); try again`, true);
  }
  if (error instanceof TypeError || name === "TypeError") {
    return new StorageError("unavailable", `cannot ${action}: the request could not be sent`, {
      cause: withoutMessage(error),
    });
  }
  return fail("unavailable", text);
}

/** Keeps the stack. The message may quote a header, and with it a secret. */
function withoutMessage(error: unknown): Error {
  const { name, stack = "" } = error instanceof Error ? error : new Error();
  const frames = stack.split("\n").filter((line) => /^\s+at /u.test(line));
  const bare = new Error(name);
  bare.stack = [name, ...frames].join("\n");
  return bare;
}

/** Node's `fetch` wraps the system's error. */
function innermost(error: unknown): { name: string; code: string; text: string } {
  if (!(error instanceof Error)) return { name: "", code: "", text: foreignText(String(error)) };
  if (error.cause instanceof Error && !("code" in error)) return innermost(error.cause);
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return { name: error.name, code, text: foreignText(error.message) };
}
