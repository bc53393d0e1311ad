import type { ServerResponse } from "node:http";
import { onAny } from "./on-any.ts";
import { createPatience, type Patience, type PatienceOptions } from "./patience.ts";

/** What a gateway answers. */
export interface Answer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * By default none. One that comes piece by piece is sent with the `content-length` in the headers, or
   * else in chunks.
   */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined;
}

/** The client took too long, or is gone. There is nobody to tell. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** How an answer is sent. */
export interface SendOptions {
  readonly patience: PatienceOptions;
  /** Runs once the client has all of the answer, before that ends. */
  readonly beforeEnd?: (() => Promise<void>) | undefined;
  /** Is told of bytes of the body as they are written. */
  readonly sent: (bytes: number) => void;
}

const NOTHING = new Uint8Array(0);
/** Written at once, so that a client which takes that much in its time is not given up on. */
const SLICE = 64 * 1024;

/**
 * Sends an answer, and reads its body no faster than the client takes it.
 *
 * @throws ClientGone; the error of the body, after which the connection must be destroyed
 */
export async function sendAnswer(
  response: ServerResponse,
  { status, headers, body }: Answer,
  { patience: limits, beforeEnd, sent }: SendOptions,
): Promise<void> {
  const patience = createPatience(limits);
  if (body === undefined || typeof body === "string" || body instanceof Uint8Array) {
    const bytes = typeof body === "string" ? Buffer.from(body) : (body ?? NOTHING);
    // An answer to HEAD has the length of the body that it does not have.
    const length = headers["content-length"] ?? `${bytes.length}`;
    response.writeHead(
      status,
      status === 204 || status === 304 ? headers : { ...headers, "content-length": length },
    );
    if (beforeEnd === undefined) {
      response.end(bytes);
    } else {
      await write(response, bytes, patience);
    }
    sent(bytes.length);
  } else {
    try {
      response.writeHead(status, headers);
    } catch (error) {
      // A header that HTTP cannot have. The body was begun, and has memory.
      await body[Symbol.asyncIterator]().return?.();
      throw error;
    }
    for await (const piece of body) {
      await write(response, piece, patience);
      sent(piece.length);
    }
  }
  await beforeEnd?.();
  if (!response.writableEnded) response.end();
  await finished(response, patience);
}

/** Resolves once the connection can take more. */
async function write(
  response: ServerResponse,
  piece: Uint8Array,
  patience: Patience,
): Promise<void> {
  for (let at = 0; at < piece.length; at += SLICE) {
    if (response.destroyed) throw new ClientGone("the client is gone");
    const slice = piece.subarray(at, at + SLICE);
    if (!response.write(slice)) {
      const inTime = await patience.wait((done) => onAny(response, ["drain", "close"], done));
      if (!inTime || response.destroyed) throw new ClientGone("the client took too long");
    }
    patience.gain(slice.length);
  }
}

async function finished(response: ServerResponse, patience: Patience): Promise<void> {
  if (response.writableFinished || response.destroyed) return;
  const inTime = await patience.wait((done) => onAny(response, ["finish", "close"], done));
  if (!inTime) throw new ClientGone("the client took too long");
}
