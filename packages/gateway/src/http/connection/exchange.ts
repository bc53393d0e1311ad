import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { RawRequest } from "../../signature/request.ts";
import { createIncoming, type Incoming } from "./incoming.ts";
import { type Answer, ClientGone, sendAnswer } from "./outgoing.ts";
import type { PatienceOptions } from "./patience.ts";

/** A request and the way to answer it. */
export interface Exchange {
  /** For the answer and for logs: 16 hex digits in upper case. */
  readonly id: string;
  readonly raw: RawRequest;
  /** The IP address of the connection. */
  readonly remote: string;
  readonly incoming: Incoming;
  /** Fires if the client goes before it has its answer. */
  readonly signal: AbortSignal;
  /**
   * Sends the answer, once. Ends the connection if the request's body was not read.
   *
   * @throws the error of the answer's body, or ClientGone; the connection is destroyed then
   */
  send(answer: Answer): Promise<void>;
  /** Bytes of the answer's body that were sent. */
  sent(): number;
  /** Whether the connection has ended before the client has its answer. */
  isGone(): boolean;
  /** Tells that the client is known: its connection is kept longer. */
  authenticated(): void;
}

/** How requests of a connection are treated. */
export interface ExchangeOptions {
  /** True if the client sends the body only after `100 Continue`. */
  readonly waitsForContinue: boolean;
  readonly patience: PatienceOptions;
  /** Is told that some of the body was taken. */
  readonly onRead: () => void;
  /** Whether the connection is to end with the answer. */
  readonly isClosing: () => boolean;
  /** Is told that a request of the connection was authenticated. */
  readonly onAuthenticated: () => void;
  /** Is told that the answer was sent, and that what is left of the body is only dropped. */
  readonly onLingering: () => void;
}

/** What is read of a body that nobody wants, so that the client sees the answer and not a reset. */
const LINGER_BYTES = 4 * 2 ** 20;
const LINGER_MS = 2000;

export function createExchange(
  request: IncomingMessage,
  response: ServerResponse,
  { waitsForContinue, patience, onRead, isClosing, onAuthenticated, onLingering }: ExchangeOptions,
): Exchange {
  let isAccepted = !waitsForContinue;
  let sent = 0;
  const id = requestId();
  const gone = new AbortController();
  response.on("close", () => {
    if (!response.writableFinished) gone.abort(new ClientGone("the client is gone"));
  });
  // Whoever reads the body, or sends, sees the connection's end by itself.
  request.on("error", () => {});
  response.on("error", () => {});

  const incoming = createIncoming(
    request,
    () => {
      if (isAccepted) return;
      isAccepted = true;
      response.writeContinue();
    },
    onRead,
    patience,
  );

  return {
    id,
    raw: {
      method: request.method ?? "",
      target: request.url ?? "",
      rawHeaders: request.rawHeaders,
    },
    remote: request.socket.remoteAddress ?? "",
    incoming,
    signal: gone.signal,
    sent: () => sent,
    isGone: () => gone.signal.aborted || request.socket.destroyed,
    authenticated: onAuthenticated,
    async send(answer) {
      const isUnread = hasBody(request) && !request.complete;
      const ends = isClosing() || isUnread;
      const headers = {
        server: "idk",
        "x-amz-request-id": id,
        // The same as the error document's HostId.
        "x-amz-id-2": id,
        ...answer.headers,
        ...(ends && { connection: "close" }),
      };
      const drop = async (): Promise<void> => {
        onLingering();
        await linger(request, onRead);
      };
      try {
        await sendAnswer(
          response,
          { ...answer, headers },
          {
            patience,
            beforeEnd: isUnread && isAccepted ? drop : undefined,
            sent: (bytes) => {
              sent += bytes;
            },
          },
        );
      } catch (error) {
        response.destroy();
        throw error;
      }
    },
  };
}

/** A new request id. */
export function requestId(): string {
  return randomBytes(8).toString("hex").toUpperCase();
}

/** A request without a body may not count as complete while it is handled. */
function hasBody({ headers }: IncomingMessage): boolean {
  const { "content-length": length = "0", "transfer-encoding": encoding } = headers;
  return encoding !== undefined || length !== "0";
}

/** Reads and drops what the client is still sending, for a while. */
async function linger(request: IncomingMessage, onRead: () => void): Promise<void> {
  let count = 0;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, LINGER_MS);
    const finish = (): void => {
      clearTimeout(timer);
      resolve();
    };
    request.on("data", (piece: Uint8Array) => {
      count += piece.length;
      onRead();
      if (count > LINGER_BYTES) finish();
    });
    request.on("end", finish);
    request.on("close", finish);
  });
}
