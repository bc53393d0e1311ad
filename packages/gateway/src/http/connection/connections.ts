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
  /** Whether it had no request so far. */
  isNew: boolean;
  /** Whether its last request has an answer, and what is left of that request's body is only dropped. */
  isLingering: boolean;
  /** Whether a request on it was authenticated. */
  isKnown: boolean;
  /** Ends it unless it has a request before. */
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** The connections of a server, no more than a maximum. */
export interface Connections {
  /** Takes a new connection. If there are too many, it closes one that can be spared, or else this one. */
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

/**
 * Which connections are closed first when there are too many: the smallest number. Strangers come before
 * known clients, except for those that wait for an answer: a client's first request may be among them. A
 * stranger that was refused comes before a connection without a request, which may become a known one.
 *
 * @returns undefined if the connection is kept
 */
function victimRank({ requests, isNew, isKnown, isLingering }: Connection): number | undefined {
  const isDone = requests === 0 || isLingering;
  if (isKnown) return isDone ? 2 : undefined;
  if (!isDone) return 3;
  return isNew ? 1 : 0;
}

/** Keeps account of connections. */
export function createConnections(
  max: number,
  { newMs, strangerMs, knownMs }: IdleTimes,
): Connections {
  /** Those that are idle are in the order in which they became so. */
  const open = new Map<Socket, Connection>();
  let [refused, running, queued] = [0, 0, 0];
  let isDraining = false;

  const findVictim = (): Connection | undefined => {
    let victim: Connection | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const connection of open.values()) {
      const rank = victimRank(connection) ?? Number.POSITIVE_INFINITY;
      if (rank < least) [victim, least] = [connection, rank];
      if (least === 0) break;
    }
    return victim;
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
      isNew: true,
      isKnown: false,
      isLingering: false,
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
        const victim = findVictim();
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
      connection.isNew = false;
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
