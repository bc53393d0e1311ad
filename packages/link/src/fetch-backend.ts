import { type Backend, StorageError } from "@idk/storage";
import { LinkError } from "./errors.ts";

/** The part of an error response that is read; real ones are shorter. */
const ERROR_MAX = 16 * 1024;

/** Sends a request, as the global `fetch` does. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Where a blob is; undefined if the list does not have it. */
type UrlOf = (name: string) => string | undefined;

/** A store that can only be read, by URLs. Sends neither cookies nor a referrer. */
export function fetchBackend(urlOf: UrlOf, send: Fetch): Backend {
  const unsupported = async (): Promise<never> => {
    throw new StorageError("usage", "a link can only be read");
  };
  return {
    description: "a link",
    async get(name, buffer, { signal } = {}) {
      const url = urlOf(name);
      if (url === undefined) throw failure("missing", "not-found", "the list of the link lacks it");
      try {
        const response = await send(url, {
          cache: "no-store",
          credentials: "omit",
          redirect: "error",
          referrerPolicy: "no-referrer",
          signal: signal ?? null,
        });
        if (!response.ok) throw await refusal(response);
        return await readInto(buffer, response);
      } catch (error) {
        if (error instanceof StorageError) throw error;
        if (signal?.aborted) throw new StorageError("aborted", "the caller ended the call");
        throw failure("unreachable", "unavailable", "no response, or it ended early", true);
      }
    },
    put: unsupported,
    head: unsupported,
    delete: unsupported,
    list: () => ({ [Symbol.asyncIterator]: () => ({ next: unsupported }) }),
  };
}

async function readInto(buffer: Uint8Array, response: Response): Promise<number> {
  let length = 0;
  if (response.body === null) return length;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return length;
      if (length + value.length > buffer.length) {
        throw new StorageError("limit", "the server sent more bytes than a blob can have");
      }
      buffer.set(value, length);
      length += value.length;
    }
  } finally {
    // Ends the request if the body was not read to its end.
    void reader.cancel().catch(() => undefined);
  }
}

/** S3 says in its message that a URL has expired, with a status that it uses for all refusals. */
async function refusal(response: Response): Promise<StorageError> {
  const { status } = response;
  const buffer = new Uint8Array(ERROR_MAX);
  const length = await readInto(buffer, response).catch(() => 0);
  const text = new TextDecoder().decode(buffer.subarray(0, length));
  if (status === 404) return failure("missing", "not-found", "the server does not have it");
  if ((status === 400 || status === 403) && /expired/iu.test(text)) {
    return failure("expired", "permission", "the link has expired");
  }
  if (status === 408 || status === 429 || status >= 500) {
    return failure("unreachable", "unavailable", `the server is busy (status ${status})`, true);
  }
  return failure("refused", "permission", `the server refused (status ${status})`);
}

/** An error as the store expects it, with the one for the caller of the link as its cause. */
function failure(
  code: LinkError["code"],
  storageCode: "not-found" | "permission" | "unavailable",
  message: string,
  transient = false,
): StorageError {
  return new StorageError(storageCode, message, { cause: new LinkError(code, message), transient });
}
