import { type StoredBlob, type Store, StorageError } from "@idk/storage";

/**
 * A file service over a store, as a function from a web request to a web response, for any server
 * that speaks these (bun-server.ts, node-server.ts):
 *
 * - `PUT /` stores the body, of any length, in bounded memory: 201 and the address;
 * - `GET /ADDRESS` verifies and gives it back, a range as well.
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
    // The root is written last: who hangs up before leaves no address behind.
    signal: request.signal,
  });
  return new Response(`${address}\n`, { status: 201, headers: { location: `/${address}` } });
}

async function get(store: Store, address: string, request: Request): Promise<Response> {
  const { signal } = request;
  const blob = await store.get(address, { signal });
  const wanted = /^bytes=(\d+)-(\d*)$/u.exec(request.headers.get("range") ?? "");
  const headers = new Headers({
    // By the sender's word: `nosniff` keeps a browser from taking it for something else, and the
    // sandbox keeps a page or an image from running scripts as one of this service.
    "content-type": typeOf(blob),
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
    "accept-ranges": "bytes",
    // An address never holds anything else.
    etag: `"${blob.address}"`,
    "cache-control": "private, immutable",
  });
  // Other forms of ranges may be answered with the whole (RFC 9110, 14.2).
  if (wanted === null) return whole(blob, headers);
  const start = Number(wanted[1]);
  const end = wanted[2] === "" ? blob.size : Math.min(Number(wanted[2]) + 1, blob.size);
  if (start >= end) {
    headers.set("content-range", `bytes */${blob.size}`);
    return new Response("", { status: 416, headers });
  }
  const part = await store.get(address, { range: { start, end }, signal });
  headers.set("content-length", String(end - start));
  headers.set("content-range", `bytes ${start}-${end - 1}/${blob.size}`);
  return new Response(part.stream(), { status: 206, headers });
}

function whole(blob: StoredBlob, headers: Headers): Response {
  headers.set("content-length", String(blob.size));
  return new Response(blob.stream(), { headers });
}

/** A type and subtype with parameters: no line breaks, nor anything else that no header can have. */
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?: *;[ -~]*)?$/u;

function typeOf({ metadata: { type } }: StoredBlob): string {
  return type !== undefined && MEDIA_TYPE.test(type) ? type : "application/octet-stream";
}

const STATUS: Readonly<Record<string, number>> = {
  usage: 400,
  "not-found": 404,
  "no-match": 404,
  unavailable: 503,
};

/** A client is told the kind of a failure and no more; the log of the service may say the rest. */
function failure(error: unknown): Response {
  if (!(error instanceof StorageError)) throw error;
  return new Response(`${error.code}\n`, { status: STATUS[error.code] ?? 500 });
}
