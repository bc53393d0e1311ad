import { aborted } from "../../../abort.ts";
import { StorageError } from "../../../errors.ts";
import { foreignCause, foreignText } from "../../../text.ts";
import { type ErrorMeaning, errorMeaning } from "../../http/error-codes.ts";
import {
  type ErrorResponse,
  fetchError,
  innermost,
  isTlsFailure,
  responseError,
} from "../../http/errors.ts";

/** A request that failed on its way through a proxy; the reason is its cause. */
export class ProxyFailure extends Error {
  /** The proxy's host and port, without its credentials. */
  readonly proxy: string;

  constructor(proxy: string, cause: unknown) {
    super(`the proxy ${proxy} failed`, { cause });
    this.proxy = proxy;
  }
}

/**
 * Converts an error response of a bucket.
 *
 * @param action what was attempted and on what, to follow "cannot"
 */
export function bucketError(response: ErrorResponse, action: string, bucket: string): StorageError {
  const { status, code, message } = response;
  const meaning =
    contextualMeaning(response, bucket) ?? errorMeaning(status, code, foreignText(message));
  return responseError(response, action, meaning);
}

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

/** In place of the server, if credentials are requested from another one, such as a cloud's. */
export const CREDENTIALS_PROVIDER = "the credentials provider";

/**
 * Converts an exception: no complete response arrived, or the request could not be sent. Only
 * network failures are transient; a bug or an invalid option is not.
 *
 * @param action what was attempted and on what, to follow "cannot"
 * @param server `HOST:PORT`, if it is known by now
 */
export function exceptionError(
  error: unknown,
  action: string,
  signal: AbortSignal | undefined,
  server = "the server",
): StorageError {
  if (error instanceof StorageError) return error;
  if (signal?.aborted) return aborted(signal);
  const failure = innermost(error);
  const { name, code, text } = failure;
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
  if (proxy !== undefined && !isTlsFailure(failure)) {
    return fail(
      "unavailable",
      `the connection to ${server} through the proxy ${proxy} failed (${foreignText(code || name)}); check the proxy, HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or try again`,
      true,
    );
  }
  return fetchError(error, action, server) ?? fail("unavailable", text);
}

/** The code of a system error, `fetch` or TLS; empty if there is none. */
export function failureCode(error: unknown): string {
  return innermost(error).code;
}
