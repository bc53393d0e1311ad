import type { Backend } from "../../../src/backend/backend.ts";
import { memory } from "../../../src/backend/memory.ts";
import { StorageError } from "../../../src/errors.ts";

/** A plain HTTP server with GET, HEAD, PUT and DELETE of `/blobs/NAME`, and what it holds. */
export interface BlobServer extends Disposable {
  /** Below which the blobs are, with a slash at the end. */
  readonly url: string;
  readonly blobs: Backend;
  /** The requests so far. */
  readonly requests: { readonly method: string; readonly url: string; readonly headers: Headers }[];
}

/** @param respond answers a request itself, or returns undefined */
export function blobServer(
  respond: (request: Request) => Response | Promise<Response> | undefined = () => undefined,
): BlobServer {
  const blobs = memory();
  const requests: BlobServer["requests"] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    maxRequestBodySize: 2 ** 25,
    async fetch(request) {
      const { method, url } = request;
      // A copy, because Bun drops the headers when it has responded.
      requests.push({ method, url, headers: new Headers(request.headers) });
      return (await respond(request)) ?? serve(blobs, request);
    },
  });
  return {
    url: new URL("blobs/", server.url).href,
    blobs,
    requests,
    [Symbol.dispose]: () => void server.stop(true),
  };
}

async function serve(blobs: Backend, request: Request): Promise<Response> {
  const name = new URL(request.url).pathname.replace("/blobs/", "");
  switch (request.method) {
    case "PUT":
      await blobs.put(name, new Uint8Array(await request.arrayBuffer()));
      return new Response(null, { status: 201 });
    case "DELETE":
      await blobs.delete(name);
      return new Response(null, { status: 204 });
    default: {
      const buffer = new Uint8Array(2 ** 25);
      const length = await blobs.get(name, buffer).catch((error: unknown) => {
        if (error instanceof StorageError && error.code === "not-found") return undefined;
        throw error;
      });
      if (length === undefined) return new Response("there is none", { status: 404 });
      return ranged(buffer.slice(0, length), request.headers.get("range"));
    }
  }
}

function ranged(bytes: Uint8Array<ArrayBuffer>, range: string | null): Response {
  const [, from, to] = /^bytes=(\d+)-(\d+)$/u.exec(range ?? "") ?? [];
  if (from === undefined) return new Response(bytes);
  if (Number(from) >= bytes.length) return new Response(null, { status: 416 });
  const part = bytes.slice(Number(from), Number(to) + 1);
  const end = Number(from) + part.length - 1;
  const headers = { "content-range": `bytes ${from}-${end}/${bytes.length}` };
  return new Response(part, { status: 206, headers });
}
