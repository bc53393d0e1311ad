import { type Answer, ClientGone } from "../http/connection/outgoing.ts";
import type { Share } from "../objects/memory/budget.ts";
import { type Xml, xmlDocument } from "../xml/write.ts";
import { MEMORY_WAIT_MS, SHORT_DOCUMENT } from "./bodies.ts";
import type { Request } from "./operation.ts";

/** An answer without a body. */
export function emptyAnswer(status: 200 | 204, headers: Answer["headers"] = {}): Answer {
  return { status, headers };
}

/** An answer with a document of S3. */
export function xmlAnswer(root: string, content: Xml, headers: Answer["headers"] = {}): Answer {
  return {
    status: 200,
    headers: { "content-type": "application/xml", ...headers },
    body: xmlDocument(root, content),
  };
}

/** What a page of a list takes before its document is made: 1,000 entries, with keys of 1 KiB at most. */
export const PAGE_BYTES: number = 2 * 2 ** 20;

/**
 * An answer whose document may be long. There is memory for it before anything is read for it, and until
 * the client has taken it: one that stalls, or takes it slowly for long, is given up on while others wait. One
 * that is not slow has its answer whole, and others wait for that.
 *
 * @param bytes what `make` needs; what the document needs is known only then
 * @param held memory that the request has already: it is used for the answer, and released
 * @throws S3Error `SlowDown`
 */
export async function longAnswer(
  { documents, accessKey, signal }: Pick<Request, "documents" | "accessKey" | "signal">,
  bytes: number,
  make: () => Answer | Promise<Answer>,
  held?: Share,
): Promise<Answer> {
  held?.resize(bytes);
  const share =
    held ??
    (await documents.acquire(
      { least: bytes, most: bytes },
      { signal, limitMs: MEMORY_WAIT_MS, owner: accessKey.id },
    ));
  try {
    const answer = await make();
    if (typeof answer.body !== "string" || answer.body.length <= SHORT_DOCUMENT) {
      share.release();
      return answer;
    }
    const document = Buffer.from(answer.body);
    share.resize(document.length);
    const headers = { ...answer.headers, "content-length": `${document.length}` };
    return { ...answer, headers, body: inPieces(document, share) };
  } catch (error) {
    share.release();
    throw error;
  }
}

const PIECE_LENGTH = 64 * 1024;
/** Bytes per second: a client that takes less on average is slow. As for content. */
const LEAST_RATE = 128 * 1024;

/** Bytes that are dropped, with their memory, with the last piece, and as soon as the client stalls. */
function inPieces(bytes: Uint8Array, share: Share): AsyncIterableIterator<Uint8Array> {
  const { length } = bytes;
  let left: Uint8Array | undefined = bytes;
  let at = 0;
  let began: number | undefined;
  const isSlow = (since: number): boolean => at < (LEAST_RATE * (performance.now() - since)) / 1000;
  const drop = (): void => {
    left = undefined;
    share.release();
  };
  share.onStall(drop);
  return {
    async next() {
      if (at === length) return { done: true, value: undefined };
      share.busy();
      began ??= performance.now();
      if (share.isOver() && isSlow(began)) drop();
      if (left === undefined) throw new ClientGone("the client took too long");
      // A view would keep all of it while the client stalls.
      const piece = new Uint8Array(left.subarray(at, at + PIECE_LENGTH));
      at += piece.length;
      if (at === length) drop();
      else share.idle();
      return { done: false, value: piece };
    },
    async return() {
      drop();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** A time as in XML: `2026-11-23T04:00:00.000Z`. */
export function isoTime(time: number): string {
  return new Date(time).toISOString();
}

/** A time as in headers, to the second: `Mon, 23 Nov 2026 04:00:00 GMT`. */
export function httpTime(time: number): string {
  return new Date(time).toUTCString();
}
