import { type StoredContent, type Store, StorageError } from "@idk/storage";

/**
 * An HTTP file service over a store, as a function from a web `Request` to a `Response`, for any
 * server that uses these types (bun-server.ts, node-server.ts):
 *
 * - `PUT /` stores a body of any length in bounded memory, and returns 201 and the address;
 * - `GET /ADDRESS` returns the verified content, or a range of it.
 */
export function fileService(store: Store): (request: Request) => Promise<Response> {
  return async (request) => {
    try {
      const [, address = ""] = new URL(request.url).pathname.split("/");
      if (request.method === "PUT" && address === "") return await put(store, request);
      if (request.method === "GET" && address !== "") return await get(store, address, request);
      return new Response("PUT / or GET /ADDRESS\n", { status: 405 });
    } catch (error) {
      return failure(error);
    }
  };
}

async function put(store: Store, request: Request): Promise<Response> {
  const type = request.headers.get("content-type") ?? "application/octet-stream";
  const address = await store.put(request.body ?? "", {
    metadata: { type },
    // The root is written last, so a client that disconnects earlier leaves no address behind.
    signal: request.signal,
  });
  return new Response(`${address}\n`, { status: 201, headers: { location: `/${address}` } });
}

async function get(store: Store, address: string, request: Request): Promise<Response> {
  const { signal } = request;
  const content = await store.get(address, { signal });
  const requested = /^bytes=(\d+)-(\d*)$/u.exec(request.headers.get("range") ?? "");
  const headers = new Headers({
    // The sender chose this type. `nosniff` keeps browsers from guessing another one, and the
    // sandbox keeps scripts in a page or an image from running with this service's origin.
    "content-type": typeOf(content),
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
    "accept-ranges": "bytes",
    // The content of an address never changes.
    etag: `"${content.address}"`,
    "cache-control": "private, immutable",
  });
  // A server may ignore a Range header (RFC 9110, 14.2): other forms get the whole content.
  if (requested === null) return whole(content, headers);
  const start = Number(requested[1]);
  const end = requested[2] === "" ? content.size : Math.min(Number(requested[2]) + 1, content.size);
  if (start >= end) {
    headers.set("content-range", `bytes */${content.size}`);
    return new Response("", { status: 416, headers });
  }
  const part = await store.get(address, { range: { start, end }, signal });
  headers.set("content-length", String(end - start));
  headers.set("content-range", `bytes ${start}-${end - 1}/${content.size}`);
  return new Response(part.stream(), { status: 206, headers });
}

function whole(content: StoredContent, headers: Headers): Response {
  headers.set("content-length", String(content.size));
  return new Response(content.stream(), { headers });
}

/** A type and subtype with parameters; excludes line breaks and all else that headers forbid. */
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?: *;[ -~]*)?$/u;

function typeOf({ metadata: { type } }: StoredContent): string {
  return type !== undefined && MEDIA_TYPE.test(type) ? type : "application/octet-stream";
}

const STATUS: Readonly<Record<string, number>> = {
  usage: 400,
  "not-found": 404,
  "no-match": 404,
  unavailable: 503,
};

/** Clients get only the error code; the message and cause belong in the service's log. */
function failure(error: unknown): Response {
  if (!(error instanceof StorageError)) throw error;
  return new Response(`${error.code}\n`, { status: STATUS[error.code] ?? 500 });
}
