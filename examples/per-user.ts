import {
  type Backend,
  type Recipient,
  StorageError,
  createStore,
  parseAddress,
} from "@idk/storage";
import { Hono } from "hono";

/** The longest blob: a chunk of 16 MiB, and what sealing adds. */
const BLOB_MAX = 2 ** 24 + 1024;

export interface User {
  readonly id: string;
  readonly recipient: Recipient;
}

export interface PerUserOptions {
  readonly backend: Backend;
  /** Can also read everything; its identity is kept offline, for users who lose theirs. */
  readonly recovery: Recipient;
  /** The signed-in user of a request; undefined if there is none. */
  readonly userOf: (request: Request) => Promise<User | undefined>;
  /** Remembers who owns an address, in the application's database. */
  readonly remember: (owner: string, address: string, name: string) => Promise<void>;
  readonly maxBytes: number;
}

/**
 * Files for each user, within a Hono application:
 *
 * - `PUT /files/NAME` encrypts the body for the signed-in user and the recovery key. The server has no
 *   identity: what it has stored, it cannot read.
 * - `GET /blobs/ADDRESS` returns a blob as it is stored. The user's browser opens it, with
 *   `http({ url: "/blobs" })` of `@idk/storage/http`.
 */
export function perUserFiles(options: PerUserOptions): Hono {
  const { backend, recovery, userOf, remember, maxBytes } = options;
  const store = createStore({ backend });
  const app = new Hono();

  app.put("/files/:name", async (context) => {
    const { raw } = context.req;
    const user = await userOf(raw);
    if (user === undefined) return context.text("sign in\n", 401);
    const name = context.req.param("name");
    const address = await store.put(limited(raw.body, maxBytes), {
      recipients: [user.recipient, recovery],
      metadata: { name, type: context.req.header("content-type") ?? "application/octet-stream" },
      signal: raw.signal,
    });
    await remember(user.id, address, name);
    return context.text(`${address}\n`, 201);
  });

  app.get("/blobs/:address", async (context) => {
    if ((await userOf(context.req.raw)) === undefined) return context.text("sign in\n", 401);
    const buffer = new Uint8Array(BLOB_MAX);
    const length = await backend.get(parseAddress(context.req.param("address")), buffer);
    return context.body(buffer.slice(0, length), 200, {
      "content-type": "application/octet-stream",
      "cache-control": "private, immutable",
    });
  });

  app.onError((error, context) => {
    if (error instanceof TooLong) return context.text("too long\n", 413);
    if (!(error instanceof StorageError)) throw error;
    const status = error.code === "not-found" ? 404 : error.code === "usage" ? 400 : 503;
    return context.text(`${error.code}\n`, status);
  });
  return app;
}

class TooLong extends Error {}

/** The body, or an error as soon as it is longer than the limit. The put then leaves no address. */
async function* limited(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const piece of body ?? []) {
    length += piece.length;
    if (length > maxBytes) throw new TooLong();
    yield piece;
  }
}
