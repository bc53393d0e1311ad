import { LinkError } from "./errors.ts";

export { LinkError, type LinkErrorCode } from "./errors.ts";

/** Options of `openLink`. */
export interface OpenOptions {
  /** Sends the requests; by default the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Ends the opening, and all later reading, with `aborted`. */
  readonly signal?: AbortSignal | undefined;
}

/** What a link refers to: its root is verified and opened, its chunks are fetched when it is read. */
export interface OpenedLink {
  /** The address of the root in the link: of its SHA-256, 64 hexadecimal digits. */
  readonly address: string;
  /** Bytes of the content. */
  readonly size: number;
  /** A label that the writer of the content chose: any text. Show it as text, never as markup or path. */
  readonly name: string | undefined;
  /** A media type that the writer chose: any text. */
  readonly type: string | undefined;
  /** When the server stops serving it; undefined if the link has public addresses. */
  readonly expires: Date | undefined;
  /** The content. Every chunk is verified before any byte of it is released. Errors with LinkError. */
  stream(): ReadableStream<Uint8Array<ArrayBuffer>>;
  /** The content in one array; `limit` if it has more bytes than that. */
  bytes(limit: number): Promise<Uint8Array<ArrayBuffer>>;
}

/**
 * Fetches the list of a link, verifies and opens it, and opens the root in it.
 *
 * @param fragment what follows `#` in the link, without it
 * @throws LinkError
 */
export async function openLink(fragment: string, options: OpenOptions = {}): Promise<OpenedLink> {
  void options;
  throw new LinkError("malformed", `the link is not complete (${fragment.length} characters)`);
}
