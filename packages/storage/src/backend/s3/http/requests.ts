import { throwIfAborted, untilAborted } from "../../../abort.ts";
import { StorageError } from "../../../errors.ts";
import { startDeadline } from "../../http/deadline.ts";
import { type ErrorResponse, errorResponse } from "../../http/errors.ts";
import { type HttpResponse, receive } from "../../http/response.ts";
import { firstByteMs } from "../../http/timeouts.ts";
import type { BucketContext } from "../bucket-context.ts";
import type { UnsignedRequest } from "./connection.ts";
import { bucketError, CREDENTIALS_PROVIDER, exceptionError, failureCode } from "./errors.ts";
import { send } from "./send.ts";

/** The SHA-256 of no bytes, which the signature of a request without a body contains. */
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

export interface S3Request extends Omit<UnsignedRequest, "sha256"> {
  /** What the request does and to what, to follow "cannot" in messages. */
  readonly action: string;
  readonly body?: { readonly bytes: Uint8Array; readonly sha256: string } | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Sends one signed request and reads the response. Redirects are not followed, because signed
 * headers and the body are meant for the requested host only.
 *
 * After an abort the runtime may still read the borrowed body. Changes to it are harmless: the
 * signature covers the body's SHA-256, so the server rejects anything else.
 *
 * @param read processes the response; its exceptions count as failures of the connection
 * @param onError handles an error response, or returns undefined to have it thrown
 */
export async function sendRequest<T>(
  { connection, config }: BucketContext,
  request: S3Request,
  read: (response: HttpResponse) => Promise<T>,
  onError?: (response: ErrorResponse) => T | Promise<T> | undefined,
): Promise<T> {
  const { signal, action, body, method, key, query } = request;
  throwIfAborted(signal);
  const { firstByte, stall } = config.timeouts;
  const ms = firstByteMs(firstByte, body?.bytes.length ?? 0);
  const { probe, protocol, server } = connection;
  const deadline = startDeadline(signal, ms, action, server);
  const unwatch = probe.watch(deadline, action);
  try {
    const sha256 = body?.sha256 ?? EMPTY_SHA256;
    const { url, headers } = await connection
      .sign({ method, key, query, headers: request.headers, sha256 }, deadline.signal)
      .catch((error: unknown) => {
        throw exceptionError(error, action, signal, CREDENTIALS_PROVIDER);
      });
    // A compressed response would not have the announced length.
    headers["accept-encoding"] = "identity";
    const response = await send(url, {
      method,
      headers,
      ...(body === undefined ? {} : { body: body.bytes as Uint8Array<ArrayBuffer> }),
      redirect: "manual",
      signal: deadline.signal,
    });
    probe.responded();
    connection.clock.observe(response.headers.get("date"));
    const received = receive(response, method, deadline, stall, true);
    if (response.ok) {
      protocol.responded();
      return await read(received);
    }
    const error = await errorResponse(received);
    const result = await onError?.(error);
    if (result !== undefined) return result;
    if (error.code !== "") protocol.responded();
    const mismatch = await untilAborted(protocol.mismatch(error.status, action), signal);
    throw mismatch ?? bucketError(error, action, config.bucket);
  } catch (error) {
    if (deadline.error !== undefined || !(error instanceof StorageError)) probe.failed();
    const failure =
      (!signal?.aborted && deadline.error) || exceptionError(error, action, signal, server);
    throw (await untilAborted(protocol.mismatch(failureCode(error), action), signal)) ?? failure;
  } finally {
    unwatch();
    deadline.end();
  }
}

/** S3 servers return the ETag of an object. A response without one comes from another web server. */
export function requireEtag(headers: Headers, action: string): void {
  if (headers.get("etag")) return;
  throw new StorageError(
    "unavailable",
    `cannot ${action}: the response is not from an S3 store; check the endpoint URL`,
  );
}
