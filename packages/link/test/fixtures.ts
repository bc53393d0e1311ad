import { type Backend, createStore, generateIdentity, type Identity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { s3, type S3Options } from "@idk/storage/s3";
import { createLink, type CreatedLink, type CreateOptions } from "../src/create.ts";
import type { Fetch } from "../src/open.ts";

export const PAGE = "https://example.com/open/";

/** A store in memory whose URLs are those of an S3 server, and `fetch` for these. */
export interface FakeServer {
  readonly backend: Backend;
  readonly identity: Identity;
  readonly requests: URL[];
  readonly fetch: Fetch;
  put(content: Uint8Array, options?: object): Promise<string>;
  link(address: string, options?: Partial<CreateOptions>): Promise<CreatedLink>;
  /** The response to the next requests for a name instead of the stored bytes. */
  respond: (name: string) => Response | undefined;
}

const S3: S3Options = {
  bucket: "files",
  prefix: "idk/blobs",
  region: "eu-central-1",
  credentials: { accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "secret" },
};

export async function fakeServer(options: Partial<S3Options> = {}): Promise<FakeServer> {
  const blobs = memory();
  const { presign } = s3({ ...S3, ...options });
  const signed = new Set<string>();
  const backend: Backend = {
    ...blobs,
    async presign(request) {
      const reads = await presign!(request);
      const urlOf = (name: string): string => {
        const url = reads.urlOf(name);
        signed.add(url);
        return url;
      };
      return { ...reads, urlOf };
    },
  };
  const identity = await generateIdentity();
  const store = createStore({ backend, recipients: [identity.recipient], workers: 0 });
  const requests: URL[] = [];
  const server: FakeServer = {
    backend,
    identity,
    requests,
    respond: () => undefined,
    put: (content, given = {}) => store.put(content, given),
    link: (address, given = {}) =>
      createLink({
        backend,
        identities: [identity],
        address,
        page: PAGE,
        ...(given.publicBase === undefined ? { expiresIn: 3600 } : {}),
        ...given,
      }),
    fetch: async (input) => {
      const url = new URL(input);
      requests.push(url);
      const name = url.pathname.slice(-64);
      const response = server.respond(name);
      if (response !== undefined) return response;
      if (url.search !== "" && !signed.has(input)) {
        return new Response("SignatureDoesNotMatch", { status: 403 });
      }
      const buffer = new Uint8Array(17 * 2 ** 20);
      try {
        const length = await blobs.get(name, buffer);
        return new Response(buffer.subarray(0, length));
      } catch {
        return new Response("NoSuchKey", { status: 404 });
      }
    },
  };
  return server;
}

/** Bytes without a pattern, the same each time. */
export function content(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let state = 1;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[i] = state >>> 16;
  }
  return bytes;
}

export function fragmentOf({ url }: { readonly url: string }): string {
  return url.slice(url.indexOf("#") + 1);
}
