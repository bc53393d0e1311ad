import { send } from "./send.ts";
import { hasTooMuchMarkup } from "./xml.ts";

/**
 * The longest response that is read, apart from blobs. The longest page of 1000 keys, each of 1024
 * bytes and URL-encoded, has less than 5 MiB.
 */
export const MAX_RESPONSE_BYTES: number = 8 * 2 ** 20;

/** A request of a provider's client. */
export interface ClientRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Its response, which is short because no client of a provider transfers blobs. */
export interface ShortResponse {
  readonly status: number;
  readonly statusText: string;
  /** Names in lowercase. */
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
}

/**
 * Sends a request of a provider's client. The clients' own transports read responses of any length
 * into memory, and their parsers take minutes for some of 8 MiB.
 *
 * @throws Error if the response is longer than 8 MiB or has too much markup; the errors of `send`
 */
export async function sendShort(request: ClientRequest): Promise<ShortResponse> {
  const { url, method, body, signal } = request;
  const headers = new Headers(request.headers);
  // `fetch` sets them.
  for (const name of ["host", "content-length", "connection"]) headers.delete(name);
  headers.set("accept-encoding", "identity");
  const response = await send(url, {
    method,
    headers,
    ...(body === undefined || body.length === 0 ? {} : { body: body as Uint8Array<ArrayBuffer> }),
    redirect: "manual",
    signal: signal ?? null,
  });
  return {
    status: response.status,
    statusText: response.statusText,
    headers: Object.fromEntries(response.headers),
    body: await readShort(response),
  };
}

async function readShort({ body }: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = body?.getReader();
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true };
      if (done) return withoutTooMuchMarkup(Buffer.concat(chunks));
      length += value.length;
      if (length > MAX_RESPONSE_BYTES) {
        throw new Error("the response is longer than 8 MiB; check the endpoint URL");
      }
      chunks.push(value);
    }
  } finally {
    // Ends the connection if the response was not read to its end.
    void reader?.cancel().catch(() => undefined);
  }
}

function withoutTooMuchMarkup(body: Buffer): Buffer {
  if (!hasTooMuchMarkup(body.toString("latin1"))) return body;
  throw new Error("the response is not one of an S3 server; check the endpoint URL");
}
