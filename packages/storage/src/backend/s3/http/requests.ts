import { throwIfAborted, untilAborted } from "../../../abort.ts";
import { StorageError } from "../../../errors.ts";
import type { BucketContext } from "../bucket-context.ts";
import type { UnsignedRequest } from "./connection.ts";
import { type Deadline, startDeadline } from "./deadline.ts";
import { type ErrorResponse, exceptionError, responseError } from "./errors.ts";
import { send } from "./send.ts";
import { decodeEntities } from "./xml.ts";

/** The SHA-256 of no bytes, which the signature of a request without a body contains. */
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** The slowest upload that does not time out, in bytes per second. */
const MIN_UPLOAD_RATE = 64 * 2 ** 10;

/**
 * The slowest response that does not time out, in bytes per second. Without it, a server that sends
 * a byte now and then would hold a call for ever.
 */
const MIN_DOWNLOAD_RATE = 2 ** 10;

/** The part of an error response that is read; real ones are shorter. */
const MAX_ERROR_BYTES = 64 * 2 ** 10;

export interface S3Request extends UnsignedRequest {
  /** What the request does and to what, to follow "cannot" in messages. */
  readonly action: string;
  readonly body?: { readonly bytes: Uint8Array; readonly sha256: string } | undefined;
  readonly signal: AbortSignal | undefined;
}

/** The response to a request that succeeded. */
export interface S3Response {
  readonly headers: Headers;
  /** The chunks of the body. They must be read, or the response cancelled. */
  chunks(): AsyncIterable<Uint8Array>;
  /** Releases the connection without reading the rest of the body. */
  cancel(): void;
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
  read: (response: S3Response) => Promise<T>,
  onError?: (response: ErrorResponse) => T | Promise<T> | undefined,
): Promise<T> {
  const { signal, action, body, method } = request;
  throwIfAborted(signal);
  const { firstByte, stall } = config.timeouts;
  const uploadMs = ((body?.bytes.length ?? 0) / MIN_UPLOAD_RATE) * 1000;
  const deadline = startDeadline(signal, Math.min(firstByte + uploadMs, 2 ** 31 - 1), action);
  const { probe } = connection;
  const unwatch = probe.watch(deadline, action);
  try {
    const unsigned = {
      ...request,
      headers: { "x-amz-content-sha256": body?.sha256 ?? EMPTY_SHA256, ...request.headers },
    };
    const { url, headers } = await untilAborted(connection.sign(unsigned), deadline.signal);
    const response = await send(url, {
      method,
      // A compressed response would not have the announced length.
      headers: { ...headers, "accept-encoding": "identity" },
      ...(body === undefined ? {} : { body: body.bytes as Uint8Array<ArrayBuffer> }),
      redirect: "manual",
      signal: deadline.signal,
    });
    probe.responded();
    connection.clock.observe(response.headers.get("date"));
    deadline.extend(stall, TOO_SLOW);
    const chunks = (): AsyncGenerator<Uint8Array> => chunksOf(response, deadline, stall);
    if (response.ok) {
      return await read({ headers: response.headers, chunks, cancel: deadline.cancel });
    }
    const error = await errorResponse(response, chunks());
    const result = await onError?.(error);
    if (result !== undefined) return result;
    throw responseError(error, action, config.bucket);
  } catch (error) {
    if (deadline.error !== undefined || !(error instanceof StorageError)) probe.failed();
    throw (!signal?.aborted && deadline.error) || exceptionError(error, action, signal);
  } finally {
    unwatch();
    deadline.end();
  }
}

const TOO_SLOW = "sent less than 1 KiB/s";

async function* chunksOf(
  response: Response,
  deadline: Deadline,
  stall: number,
): AsyncGenerator<Uint8Array> {
  const due = (stall / 1000) * MIN_DOWNLOAD_RATE;
  // The deadline is not extended for so little, and a stream costs more than the bytes. Bun reads chunks
  // to their end also if they are more than the announced length.
  const isChunked = response.headers.has("transfer-encoding");
  if (!isChunked && (contentLength(response.headers) ?? Infinity) <= due) {
    const whole = new Uint8Array(await response.arrayBuffer());
    if (deadline.signal.aborted) throw deadline.signal.reason;
    yield whole;
    return;
  }
  if (response.body === null) return;
  let received = 0;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      // A chunk that arrives together with the abort is dropped.
      if (deadline.signal.aborted) throw deadline.signal.reason;
      if (done) return;
      received += value.length;
      if (received >= due) {
        received = 0;
        deadline.extend(stall, TOO_SLOW);
      }
      yield value;
    }
  } finally {
    // Releases the connection if the body was not read to its end.
    void reader.cancel().catch(() => undefined);
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

/** The length of the object according to the response. */
export function contentLength(headers: Headers): number | undefined {
  const text = headers.get("content-length");
  return text === null || !/^\d{1,15}$/u.test(text) ? undefined : Number(text);
}

/** Reads and discards a short body, so that the connection can be reused. */
export async function discardBody(response: S3Response): Promise<Headers> {
  await readText(response.chunks(), MAX_ERROR_BYTES);
  return response.headers;
}

/** Reads a body up to the first chunk that exceeds `maxBytes`. */
export async function readText(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ text: string; complete: boolean }> {
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    text += decoder.decode(chunk, { stream: true });
    if (length > maxBytes) return { text, complete: false };
  }
  return { text: text + decoder.decode(), complete: true };
}

async function errorResponse(
  response: Response,
  chunks: AsyncIterable<Uint8Array>,
): Promise<ErrorResponse> {
  const { text } = await readText(chunks, MAX_ERROR_BYTES);
  return {
    status: response.status,
    // A response to HEAD has no body, so MinIO repeats code and message in headers.
    code: errorElement(text, "Code") ?? response.headers.get("x-minio-error-code") ?? "",
    message: errorElement(text, "Message") ?? response.headers.get("x-minio-error-desc") ?? "",
    header: (name) => response.headers.get(name),
  };
}

/** An element of an error response. Those are flat, short and often not XML at all. */
function errorElement(xml: string, name: string): string | undefined {
  const [, text] = new RegExp(`<${name}>([^<]*)</${name}>`, "u").exec(xml) ?? [];
  return text === undefined ? undefined : decodeEntities(text);
}
