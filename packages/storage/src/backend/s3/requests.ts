import { throwIfAborted, untilAborted } from "../../abort.ts";
import { StorageError } from "../../errors.ts";
import type { Connection, Target } from "./connection.ts";
import { type Deadline, deadline } from "./deadline.ts";
import { failure, type Refusal, refusal } from "./errors.ts";
import type { Place } from "./place.ts";

/** SHA-256 of nothing, which the signature of a request without a body names. */
export const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** The slowest upload that is waited for, in bytes a second. */
const SLOWEST = 64 * 2 ** 10;

/** No error answer is longer; the rest of one that is does not matter. */
const ANSWER_BYTES = 64 * 2 ** 10;

export interface Request extends Target {
  /** What it is for and on what, to follow "cannot" in messages. */
  readonly doing: string;
  readonly body?: Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
}

/** The answer to a request that the store has carried out. */
export interface Answer {
  readonly headers: Headers;
  /** The pieces of the body, to be begun with or abandoned. */
  pieces(): AsyncIterable<Uint8Array>;
  /** Lets go of the connection. */
  abandon(): void;
}

/**
 * Sends one signed request and reads the answer. Redirects are not followed: signed headers and
 * the body are for the host that was asked.
 *
 * When it is aborted, the runtime may still be reading the body, which was lent; a caller who
 * changes it meanwhile harms nothing, because the signature names the SHA-256 of the body and the
 * store refuses any other.
 *
 * @param read what to do with the answer; its failures are reported as failures of the connection
 * @param refused what to make of a refusal, or undefined to have it thrown
 */
export async function exchange<T>(
  connection: Connection,
  place: Place,
  request: Request,
  read: (answer: Answer) => Promise<T>,
  refused?: (answer: Refusal) => T | Promise<T> | undefined,
): Promise<T> {
  const { signal, doing, body, method } = request;
  throwIfAborted(signal);
  const { firstByte, stall } = place.timeouts;
  const upload = ((body?.length ?? 0) / SLOWEST) * 1000;
  const timer = deadline(signal, Math.min(firstByte + upload, 2 ** 31 - 1), doing);
  const { reach } = connection;
  const unwatch = reach.watch(timer, doing);
  try {
    const { url, headers } = await untilAborted(connection.sign(request), timer.signal);
    const response = await fetch(url, {
      method,
      // Without this a server might compress, and the lengths would not fit.
      headers: { ...headers, "accept-encoding": "identity" },
      ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
      redirect: "manual",
      signal: timer.signal,
    });
    reach.answered();
    connection.clock.heard(response.headers.get("date"));
    timer.extend(stall);
    if (response.ok) {
      return await read({
        headers: response.headers,
        pieces: () => piecesOf(response, timer, stall),
        abandon: timer.abandon,
      });
    }
    const answer = await refusalIn(response, piecesOf(response, timer, stall));
    const result = await refused?.(answer);
    if (result !== undefined) return result;
    throw refusal(answer, doing, place.bucket);
  } catch (error) {
    if (timer.late !== undefined || !(error instanceof StorageError)) reach.failed();
    throw (!signal?.aborted && timer.late) || failure(error, doing, signal);
  } finally {
    unwatch();
    timer.end();
  }
}

async function* piecesOf(
  response: Response,
  timer: Deadline,
  stall: number,
): AsyncGenerator<Uint8Array> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      // What arrives together with the abort is not passed on.
      if (timer.signal.aborted) throw timer.signal.reason;
      if (done) return;
      timer.extend(stall);
      yield value;
    }
  } finally {
    // The connection is let go of where more was to come.
    void reader.cancel().catch(() => undefined);
  }
}

/** Every store of the protocol gives an object an ETag, and says it. A web server may not. */
export function requireEtag(headers: Headers, doing: string): void {
  if (headers.get("etag")) return;
  throw new StorageError(
    "unavailable",
    `cannot ${doing}: this does not answer as an S3 store does; check the endpoint`,
  );
}

/** Reads an answer that has no body worth reading, so that its connection can be used again. */
export async function drain(answer: Answer): Promise<Headers> {
  await textOf(answer.pieces());
  return answer.headers;
}

/** The text at the beginning of a body. */
async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of pieces) {
    text += decoder.decode(piece, { stream: true });
    if (text.length > ANSWER_BYTES) break;
  }
  return text;
}

async function refusalIn(response: Response, pieces: AsyncIterable<Uint8Array>): Promise<Refusal> {
  const text = await textOf(pieces);
  return {
    status: response.status,
    // MinIO says in headers what an answer to HEAD cannot say in its body.
    code: element(text, "Code") ?? response.headers.get("x-minio-error-code") ?? "",
    message: element(text, "Message") ?? response.headers.get("x-minio-error-desc") ?? "",
    header: (name) => response.headers.get(name),
  };
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
  "&amp;": "&",
};

/** The text of an element of an error answer, which is flat and short. */
function element(xml: string, name: string): string | undefined {
  const [, text] = new RegExp(`<${name}>([^<]*)</${name}>`, "u").exec(xml) ?? [];
  return text?.replaceAll(/&(?:lt|gt|quot|apos|amp);/gu, (entity) => ENTITIES[entity] ?? entity);
}
