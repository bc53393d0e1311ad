import type { IncomingMessage } from "node:http";
import { S3Error } from "../../errors.ts";
import { onAny } from "./on-any.ts";
import { createPatience, type PatienceOptions } from "./patience.ts";

/** The body of a request, as it comes from the connection. */
export interface Incoming {
  /** Reads only what is pulled; to be iterated once. The first pull sends `100 Continue`. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Bytes pulled so far. */
  count(): number;
}

/**
 * @param accept tells the client to send, if it waits for that
 * @param onRead is told that some of the body was taken
 * @throws S3Error `RequestTimeout` from the bytes, if the client stalls; `IncompleteBody` if it is gone
 */
export function createIncoming(
  request: IncomingMessage,
  accept: () => void,
  onRead: () => void,
  limits: PatienceOptions,
): Incoming {
  let count = 0;
  async function* read(): AsyncGenerator<Uint8Array> {
    accept();
    const patience = createPatience(limits);
    for (;;) {
      const piece: Uint8Array | null = request.read();
      if (piece !== null) {
        count += piece.length;
        onRead();
        patience.gain(piece.length);
        yield piece;
        continue;
      }
      if (request.readableEnded || request.destroyed) break;
      const inTime = await patience.wait((done) => onAny(request, BODY_EVENTS, done));
      if (!inTime) throw new S3Error("RequestTimeout", undefined, { closesConnection: true });
    }
    if (!request.complete) {
      throw new S3Error("IncompleteBody", "The connection ended before the request body did.");
    }
  }
  return {
    bytes: { [Symbol.asyncIterator]: read },
    count: () => count,
  };
}

const BODY_EVENTS = ["readable", "end", "close", "error", "aborted"] as const;
