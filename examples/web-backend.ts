import { type Backend, StorageError } from "@idk/storage";

export interface WebBackendOptions {
  /** A URL for one GET of the blob with this name. */
  readonly download: (name: string) => string | Promise<string>;
  /** A URL for one PUT of the blob with this name; without it, nothing can be stored. */
  readonly upload?: (name: string) => string | Promise<string>;
  /** Sent with each request, such as a token of the session; presigned URLs need none. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A backend for browsers and other clients without credentials: blobs come from and go to URLs that a
 * server hands out, such as presigned ones. It can put and get; it cannot list or delete.
 */
export function webBackend({ download, upload, headers = {} }: WebBackendOptions): Backend {
  return {
    description: "the files of this application",
    async put(name, bytes, { signal } = {}) {
      if (upload === undefined) throw notAllowed("storing");
      const body = bytes as Uint8Array<ArrayBuffer>;
      await send(await upload(name), { method: "PUT", body, headers, signal: signal ?? null });
    },
    async get(name, buffer, { signal } = {}) {
      const response = await send(await download(name), { headers, signal: signal ?? null });
      return readInto(buffer, response.body!, signal);
    },
    head: async () => {
      throw notAllowed("HEAD");
    },
    delete: async () => {
      throw notAllowed("deleting");
    },
    // oxlint-disable-next-line require-yield
    async *list() {
      throw notAllowed("listing");
    },
  };
}

function notAllowed(what: string): StorageError {
  return new StorageError("permission", `${what} is not possible through this application`);
}

/** Fetches, and turns every failure into one of the codes that the library expects. */
async function send(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init).catch((cause: unknown) => {
    throw failure(cause, init.signal);
  });
  if (response.ok) return response;
  await response.body?.cancel();
  const { status } = response;
  const message = `the server responded with status ${status}`;
  if (status === 404) throw new StorageError("not-found", message);
  if (status === 401 || status === 403) throw new StorageError("permission", message);
  throw new StorageError("unavailable", message, { transient: status === 429 || status >= 500 });
}

/** Reads no more than the buffer holds, however much the server sends. */
async function readInto(
  buffer: Uint8Array,
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<number> {
  const reader = body.getReader();
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return length;
      if (length + value.length > buffer.length) {
        throw new StorageError("limit", "the blob is longer than it may be");
      }
      buffer.set(value, length);
      length += value.length;
    }
  } catch (error) {
    await reader.cancel().catch(() => {});
    throw error instanceof StorageError ? error : failure(error, signal);
  }
}

function failure(cause: unknown, signal: AbortSignal | null | undefined): StorageError {
  return signal?.aborted
    ? new StorageError("aborted", "the call was aborted", { cause })
    : new StorageError("unavailable", "the server did not respond", { cause, transient: true });
}
