import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/**
 * Reads connections no faster than the bodies of their requests are wanted. Bun's HTTP server does so by
 * itself, but not for connections that it was handed.
 */
export interface Flow {
  /** Watches a connection that the server was handed just now. */
  watch(socket: Socket): void;
  /** A request begins. */
  begin(request: IncomingMessage): void;
  /** Some of a request's body was taken. */
  advance(request: IncomingMessage): void;
}

/** Bytes of a body that may wait to be taken. */
const WAITING_MAX = 64 * 1024;

export function createFlow(): Flow {
  /** The request that a connection is in, or its last one. */
  const latest = new WeakMap<Socket, IncomingMessage | undefined>();
  return {
    watch(socket) {
      latest.set(socket, undefined);
      // Runs after the parser has had the same bytes.
      socket.on("data", () => {
        const request = latest.get(socket);
        // Of a body that has ended, nobody may take the rest, and the next request would never be read.
        if (request === undefined || request.complete) return;
        if (request.readableLength > WAITING_MAX) socket.pause();
      });
    },
    begin(request) {
      const { socket } = request;
      if (latest.has(socket)) latest.set(socket, request);
    },
    advance(request) {
      const { socket, readableLength } = request;
      // The body of a request behind this one may wait, too.
      if (latest.get(socket) !== request || readableLength > WAITING_MAX) return;
      if (socket.isPaused()) socket.resume();
    },
  };
}
