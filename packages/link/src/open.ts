import {
  createStore,
  type NaCl,
  loadNaCl,
  StorageError,
  type StoredContent,
  withRetry,
} from "@idk/storage";
import { http, type HttpOptions } from "@idk/storage/http";
import { CHILD_OVERHEAD, CHILD_PLAINTEXT_MAX, fetchBlob, hash, toHex } from "@idk/storage/blobs";
import { foreignText } from "@idk/storage/text";
import { LinkError } from "./errors.ts";
import { type Fragment, parseFragment } from "./fragment.ts";
import { identityOf, type LinkList, openList } from "./list.ts";
import { expiryOf, isLoopback, urlOf } from "./place.ts";

export { LinkError, type LinkErrorCode } from "./errors.ts";

/** Sends a request, as the global `fetch` does. */
export type Fetch = NonNullable<HttpOptions["fetch"]>;

/** Options of `openLink`. */
export interface OpenOptions {
  /** Sends the requests; by default the global `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Ends the opening, and all later reading, with `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether the store may be on this machine; by default true. A page of another machine must not be
   * made to send requests to services of its visitor.
   */
  readonly allowLoopback?: boolean | undefined;
}

/** What a link refers to: its root is verified and opened, its chunks are fetched when it is read. */
export interface OpenedLink {
  /** The address of the root in the link: its SHA-256, 64 hexadecimal digits. */
  readonly address: string;
  /** Bytes of the content. A claim until all of it has been read. */
  readonly size: number;
  /**
   * A label that the writer of the content chose, on one line and without characters that reorder
   * text. Show it as text, never as markup or path.
   */
  readonly name: string | undefined;
  /** A media type that the writer chose. */
  readonly type: string | undefined;
  /** When the server stops serving it; undefined if the link has public addresses. */
  readonly expires: Date | undefined;
  /** The content. Every chunk is verified before any byte of it is released. Errors with LinkError. */
  stream(): ReadableStream<Uint8Array<ArrayBuffer>>;
  /**
   * The content in one array.
   *
   * @throws LinkError `limit` if it has more bytes than that, before anything is fetched
   */
  bytes(limit: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** For how long a failed request is repeated, in milliseconds. The list is small: its reader waits. */
const RETRY_LIST_MS = 2000;
const RETRY_CHUNK_MS = 30_000;

/** Characters of a name and of a media type that are shown. */
const NAME_MAX = 255;
const TYPE_MAX = 127;

/**
 * Fetches the list of a link, verifies and opens it, and opens the root in it.
 *
 * @param fragment what follows `#` in the link, without it
 * @throws LinkError
 */
export async function openLink(
  fragment: string,
  {
    fetch: given = (url, init) => fetch(url, init),
    signal,
    allowLoopback = true,
  }: OpenOptions = {},
): Promise<OpenedLink> {
  // The store learns nothing of the page, also if both have one origin.
  const send: Fetch = (url, init) =>
    given(url, { ...init, credentials: "omit", referrerPolicy: "no-referrer" });
  const link = parseFragment(fragment);
  if (!allowLoopback && isLoopback(new URL(link.place.base).hostname)) {
    throw new LinkError("malformed", "the link leads to a store on this machine");
  }
  const expires = expiryOf(link.place);
  const translate = (error: unknown): LinkError => linkErrorOf(error, expires);
  try {
    const naCl = await loadNaCl();
    const { root, signatures } = await fetchList(naCl, link, send, signal);
    const content = await openContent(link, root, signatures, send, signal);
    const { name, type } = content.metadata;
    return {
      address: content.address,
      size: content.size,
      name: shown(name, NAME_MAX),
      type: shown(type, TYPE_MAX),
      expires,
      stream: () => translated(content.stream(), translate),
      async bytes(limit) {
        if (content.size > limit) {
          throw new LinkError("limit", `the content has ${content.size} bytes, more than ${limit}`);
        }
        return content.bytes({ maxBytes: limit }).catch((error: unknown) => {
          throw translate(error);
        });
      },
    };
  } catch (error) {
    throw translate(error);
  }
}

/**
 * The list is authentic because its address is in the link: nobody can make another one with this
 * SHA-256, not even with the key.
 */
async function fetchList(
  naCl: NaCl,
  { place, address, signature, secret }: Fragment,
  send: Fetch,
  signal: AbortSignal | undefined,
): Promise<LinkList> {
  const remote = http({ sign: (name) => urlOf(place, name, signature), fetch: send });
  const backend = withRetry(remote, { budgetMs: RETRY_LIST_MS });
  const buffer = new Uint8Array(CHILD_OVERHEAD + CHILD_PLAINTEXT_MAX);
  const blob = await fetchBlob(backend, address, buffer, { signal }).catch((error: unknown) => {
    if (!(error instanceof StorageError) || error.code !== "not-found") throw error;
    throw new LinkError("removed", "the link was revoked: its list has been removed", error);
  });
  try {
    return openList(naCl, secret, blob);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    if (error.code !== "commit" && error.code !== "auth") throw error;
    throw new LinkError("key", "the key in the link does not open its list", error);
  }
}

/** The root comes from the list, and its chunks from the place of the link. */
async function openContent(
  { place, secret }: Fragment,
  root: Uint8Array,
  signatures: ReadonlyMap<string, Uint8Array>,
  send: Fetch,
  signal: AbortSignal | undefined,
): Promise<StoredContent> {
  const rootAddress = toHex(hash(root));
  const sign = (name: string): string => {
    const signature = signatures.get(name) ?? new Uint8Array(0);
    const known = place.presigned === undefined || signature.length > 0;
    if (!known) throw new StorageError("not-found", "the list of the link lacks it");
    return urlOf(place, name, signature);
  };
  const remote = http({ sign, fetch: send });
  const { get } = withRetry(remote, { budgetMs: RETRY_CHUNK_MS });
  const backend = {
    ...remote,
    get: async (...[name, buffer, options]: Parameters<typeof get>): Promise<number> => {
      if (name !== rootAddress) return get(name, buffer, options);
      buffer.set(root);
      return root.length;
    },
  };
  const store = createStore({ backend, identities: [identityOf(secret)], workers: 0 });
  return store.get(rootAddress, { signal });
}

/** Text of the writer for people: undefined if there is none. */
function shown(text: unknown, max: number): string | undefined {
  return typeof text === "string" ? foreignText(text, max) || undefined : undefined;
}

/** A stream whose errors are translated. */
function translated(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  translate: (error: unknown) => LinkError,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          controller.error(translate(error));
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** What an error of the store means to somebody who opens a link. */
function linkErrorOf(error: unknown, expires: Date | undefined): LinkError {
  if (error instanceof LinkError) return error;
  // A fault of the program, not of the link.
  if (!(error instanceof StorageError) || error.code === "usage") throw error;
  // A server may refuse without a reason that a page can read.
  const isOver = expires !== undefined && expires.getTime() <= Date.now();
  if (error.code === "aborted") {
    return new LinkError("aborted", "the caller ended the call", error);
  }
  if (error.code === "not-found") {
    return new LinkError("missing", "a part of the content is not there", error);
  }
  if (error.code === "permission") {
    // The server's reason counts if the clock of this machine is wrong. The text is the one of `http` in
    // @idk/storage; a test fails if they differ.
    return isOver || error.message.includes("has expired")
      ? new LinkError("expired", "the link has expired", error)
      : new LinkError("refused", "the server refused a request", error);
  }
  if (error.code === "unavailable") {
    return new LinkError("unreachable", "the server sent no usable response", error);
  }
  return new LinkError(
    "damaged",
    "what the server sent is not what was shared: it was damaged or replaced",
    error,
  );
}
