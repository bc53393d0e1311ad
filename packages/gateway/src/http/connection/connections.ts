import type { Socket } from "node:net";
import { isLoopback } from "../health.ts";

/** How long connections may be without a request, in ms. Headers have to be there by then. */
export interface IdleTimes {
  /** New ones. Over TLS, that includes the time to encrypt. */
  readonly newMs: number;
  /** Those on which nobody was authenticated so far. */
  readonly strangerMs: number;
  readonly knownMs: number;
}

export const IDLE_TIMES: IdleTimes = {
  newMs: 20_000,
  strangerMs: 5000,
  // Longer than most load balancers keep an idle connection, so that they are the ones to end it.
  knownMs: 75_000,
};

/** A connection that is open. */
export interface Connection {
  readonly socket: Socket;
  /** Runs one request after another; those beyond the first wait here. */
  tail: Promise<void>;
  /** Requests in progress or waiting. */
  requests: number;
  /** Whether a request on it was authenticated. Those that were not are the first to go. */
  isKnown: boolean;
  /** Ends it unless it has a request before. */
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** The connections of a server, no more than a maximum. */
export interface Connections {
  /** Takes a new connection. If there are too many, an idle one is closed for it, or else itself. */
  add(socket: Socket): void;
  find(socket: Socket): Connection | undefined;
  /**
   * Runs the handler of a request once the earlier ones of its connection have ended. A connection with
   * too many that wait is closed.
   *
   * @param run must not reject
   */
  run(socket: Socket, run: () => Promise<void>): void;
  /** Ends idle connections at once, and others after their request. */
  drain(): void;
  destroyAll(): void;
  count(): number;
  /** Connections that were closed because there were too many. */
  refused(): number;
  /** Requests whose handlers run. */
  running(): number;
  /** Requests that wait for an earlier one. */
  queued(): number;
}

/** Requests that a connection may have waiting. Clients that send many at once use several connections. */
const QUEUE_MAX = 16;
/** Connections beyond the maximum for this machine: health checks, and an operator who looks. */
const RESERVE = 16;

/** Keeps account of connections. */
export function createConnections(
  max: number,
  { newMs, strangerMs, knownMs }: IdleTimes,
): Connections {
  /** The one that has been idle longest comes first among those that are idle. */
  const open = new Map<Socket, Connection>();
  let [refused, running, queued] = [0, 0, 0];
  let isDraining = false;

  const idleOne = (isKnown: boolean): Connection | undefined => {
    for (const connection of open.values()) {
      if (connection.requests === 0 && connection.isKnown === isKnown) return connection;
    }
    return undefined;
  };
  const remove = (socket: Socket): void => {
    const connection = open.get(socket);
    clearTimeout(connection?.timer);
    open.delete(socket);
  };
  const destroy = (socket: Socket): void => {
    remove(socket);
    socket.destroy();
  };
  const expire = (connection: Connection, ms: number): void => {
    connection.timer = setTimeout(() => destroy(connection.socket), ms);
    connection.timer.unref();
  };
  const end = (connection: Connection): void => {
    const { socket } = connection;
    connection.requests -= 1;
    if (connection.requests > 0 || !open.has(socket)) return;
    if (isDraining) {
      socket.end();
      return;
    }
    open.delete(socket);
    open.set(socket, connection);
    expire(connection, connection.isKnown ? knownMs : strangerMs);
  };

  const keep = (socket: Socket): Connection => {
    const connection: Connection = {
      socket,
      tail: Promise.resolve(),
      requests: 0,
      isKnown: false,
      timer: undefined,
    };
    open.set(socket, connection);
    socket.on("close", () => remove(socket));
    expire(connection, newMs);
    return connection;
  };

  return {
    add(socket) {
      // Without a listener, a reset would end the process.
      socket.on("error", () => socket.destroy());
      const limit = isLoopback(socket.remoteAddress ?? "") ? max + RESERVE : max;
      if (open.size >= limit) {
        refused += 1;
        const victim = idleOne(false) ?? idleOne(true);
        destroy(victim?.socket ?? socket);
        if (victim === undefined) return;
      }
      keep(socket);
    },
    find: (socket) => open.get(socket),
    run(socket, run) {
      if (socket.destroyed) return;
      const connection = open.get(socket) ?? keep(socket);
      if (connection.requests > QUEUE_MAX) {
        destroy(socket);
        return;
      }
      clearTimeout(connection.timer);
      connection.requests += 1;
      queued += 1;
      const earlier = connection.tail;
      const take = async (): Promise<void> => {
        await earlier;
        queued -= 1;
        if (!socket.destroyed) {
          running += 1;
          await run();
          running -= 1;
        }
        end(connection);
      };
      connection.tail = take();
    },
    drain() {
      isDraining = true;
      for (const { socket, requests } of open.values()) if (requests === 0) socket.destroy();
    },
    destroyAll() {
      for (const socket of open.keys()) socket.destroy();
    },
    count: () => open.size,
    refused: () => refused,
    running: () => running,
    queued: () => queued,
  };
}
