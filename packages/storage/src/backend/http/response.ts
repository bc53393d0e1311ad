import { StorageError } from "../../errors.ts";
import type { Deadline } from "./deadline.ts";

/**
 * The slowest response that does not time out, in bytes per second. Without it, a server that sends
 * a byte now and then would hold a call for ever.
 */
const MIN_DOWNLOAD_RATE = 2 ** 10;

const TOO_SLOW = "sent less than 1 KiB/s";

/** The part of an error response that is read; real ones are shorter. */
const MAX_ERROR_BYTES = 64 * 2 ** 10;

/** A response whose headers have arrived. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The chunks of the body. They must be read, or the response cancelled. */
  chunks(): AsyncIterable<Uint8Array>;
  /** Releases the connection without reading the rest of the body. */
  cancel(): void;
}

/**
 * Reads a response under the deadline of its request, which is extended as long as the body arrives
 * fast enough.
 *
 * @param method of the request
 * @param stall milliseconds in which 1 KiB per second must arrive or the response end
 * @param atOnce whether short bodies may be read in one piece. That is cheaper, but only bounded if
 *   the runtime does not decompress bodies by itself, as browsers do
 */
export function receive(
  response: Response,
  method: string,
  deadline: Deadline,
  stall: number,
  atOnce: boolean,
): HttpResponse {
  const { status, headers } = response;
  // Nothing follows the headers, although they may announce the length of the object.
  if (method === "HEAD") return { status, headers, chunks: nothing, cancel: deadline.cancel };
  deadline.extend(stall, TOO_SLOW);
  const chunks = (): AsyncGenerator<Uint8Array> => chunksOf(response, deadline, stall, atOnce);
  return { status, headers, chunks, cancel: deadline.cancel };
}

async function* nothing(): AsyncGenerator<never> {}

async function* chunksOf(
  response: Response,
  deadline: Deadline,
  stall: number,
  atOnce: boolean,
): AsyncGenerator<Uint8Array> {
  const due = (stall / 1000) * MIN_DOWNLOAD_RATE;
  // The deadline is not extended for so little, and a stream costs more than the bytes. Bun reads chunks
  // to their end also if they are more than the announced length.
  const isChunked = response.headers.has("transfer-encoding");
  if (atOnce && !isChunked && (contentLength(response.headers) ?? Infinity) <= due) {
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

/** Not `identity`, and not `aws-chunked`, which some servers return although it concerns the upload. */
const COMPRESSED = /gzip|deflate|compress|br|zstd/u;

/**
 * Rejects a compressed response: a few kilobytes can decompress to gigabytes, and its length is not
 * the announced one. A response to HEAD has no body.
 *
 * @throws StorageError `unavailable`
 */
export function requireUncompressed(response: Response, method: string | undefined): void {
  const encoding = response.headers.get("content-encoding")?.toLowerCase() ?? "";
  if (method === "HEAD" || !COMPRESSED.test(encoding)) return;
  void response.body?.cancel().catch(() => undefined);
  throw new StorageError(
    "unavailable",
    "the response is compressed, but blobs have to be sent as they are stored; check the endpoint URL, and the proxies before it",
  );
}

/** The length of the object according to the response. */
export function contentLength(headers: Headers): number | undefined {
  const text = headers.get("content-length");
  return text === null || !/^\d{1,15}$/u.test(text) ? undefined : Number(text);
}

/** Reads and discards a short body, so that the connection can be reused. */
export async function discardBody(response: HttpResponse): Promise<Headers> {
  await readText(response.chunks(), MAX_ERROR_BYTES);
  return response.headers;
}

/** Reads the part of an error response that messages can use. */
export async function readErrorText(response: HttpResponse): Promise<string> {
  const { text } = await readText(response.chunks(), MAX_ERROR_BYTES);
  return text;
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
