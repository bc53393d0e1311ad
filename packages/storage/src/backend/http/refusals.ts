import { StorageError } from "../../errors.ts";
import { foreignText } from "../../text.ts";
import { type ErrorMeaning, errorMeaning } from "./error-codes.ts";
import {
  type ErrorResponse,
  fetchError,
  innermost,
  responseError,
  withoutMessage,
} from "./errors.ts";

/** A request as it may be shown: without the query of its URL, which can be a signature. */
export interface ShownRequest {
  readonly method: string;
  /** The server, such as `files.example:9000`. */
  readonly host: string;
  /** What was attempted and on what, to follow "cannot". */
  readonly action: string;
}

function denied(explanation: string): ErrorMeaning {
  return { code: "permission", explanation };
}

/** Converts an error response to a client that has URLs and headers, but no keys of the store. */
export function refusal(response: ErrorResponse, request: ShownRequest): StorageError {
  // Some servers quote the URL.
  const shown = { ...response, message: withoutQueries(response.message) };
  return responseError(shown, request.action, meaningOf(shown, request));
}

/** Text that may contain URLs, without their queries. */
function withoutQueries(text: string): string {
  return text.replaceAll(/\?[^\s?]*=\S*/gu, "?…");
}

function meaningOf(response: ErrorResponse, { method, host }: ShownRequest): ErrorMeaning {
  const { status, code } = response;
  const message = foreignText(response.message);
  // Browsers show a redirect as status 0.
  if (status < 400) {
    return {
      code: "unavailable",
      explanation: `${host} redirects the request, and redirects are not followed; use the URL that it redirects to`,
    };
  }
  if (status < 500 && /expired/iu.test(`${code} ${message}`)) {
    return denied("the signed URL has expired; sign another one");
  }
  if (status === 403 && /not valid yet|not yet valid/iu.test(message)) {
    return denied("the signed URL is not valid yet; set the clock of the machine that signs");
  }
  if (code === "SignatureDoesNotMatch") {
    return denied(
      `the signature does not match the request; sign ${method}, return the headers that are signed, and check the secret key`,
    );
  }
  if (code === "NoSuchBucket") {
    return { code: "unavailable", explanation: "the bucket does not exist; check the URL" };
  }
  if (status === 404 && method === "PUT") {
    return {
      code: "unavailable",
      explanation: `${host} has no place for the blob (404); check the URL`,
    };
  }
  if (status === 405) return denied(`${host} does not allow ${method}`);
  if (status === 413 || code === "EntityTooLarge") {
    return { code: "unavailable", explanation: `${host} does not accept a blob of this length` };
  }
  if (status === 400 && code === "") return { code: "unavailable" };
  const meaning = errorMeaning(status, code, message);
  if (meaning.code !== "permission") return meaning;
  return denied(
    `${host} does not allow ${method}; check the URL, its signature and the headers (some stores also respond this way if the blob does not exist)`,
  );
}

/**
 * Converts an exception of `fetch`. The cause has no message, because runtimes quote the URL in it,
 * and with it the signature.
 *
 * @param arrived whether the response had begun
 */
export function noResponse(
  error: unknown,
  { method, host, action }: ShownRequest,
  arrived: boolean,
): StorageError {
  const cause = withoutMessage(error);
  if (inBrowser() && isTypeError(error)) {
    const { origin } = globalThis.location;
    const text = arrived
      ? "the connection failed; try again"
      : `the browser does not say why; check that ${host} can be reached, that its CORS rules allow ${method} and its headers from ${origin}, and that the page's Content-Security-Policy allows to connect to it`;
    return new StorageError("unavailable", `cannot ${action}: ${text}`, { cause, transient: true });
  }
  return (
    fetchError(error, action, host, cause) ??
    new StorageError("unavailable", `cannot ${action}: the request failed`, { cause })
  );
}

/** Converts an exception of the function that signs. */
export function signingError(error: unknown, action: string): StorageError {
  if (error instanceof StorageError) return error;
  const cause = withoutMessage(error);
  const { text } = innermost(error);
  // Its own request failed, perhaps.
  const transient =
    fetchError(error, action, "the server", cause)?.transient === true ||
    (inBrowser() && isTypeError(error));
  const shown = withoutQueries(text);
  return new StorageError("unavailable", `cannot ${action}: signing its URL failed: ${shown}`, {
    cause,
    transient,
  });
}

/** Whether this is a page or a worker of a browser, whose `fetch` hides the reason of a failure. */
export function inBrowser(): boolean {
  return typeof globalThis.location === "object";
}

function isTypeError(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof Error && error.name === "TypeError");
}
