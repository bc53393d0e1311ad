import { connect, type Socket } from "node:net";
import { StorageError } from "../../errors.ts";
import type { Deadline } from "./deadline.ts";

/**
 * Watches whether a server can be connected to, which `fetch` does not tell apart from one that is
 * slow to answer. See docs/decisions/0009-a-connection-beside-the-first-request.md.
 */
export interface Reach {
  /**
   * Lets a request fail for which no connection can be had in time. Does nothing where the server
   * was there the last time.
   *
   * @returns to be called when the request is over
   */
  watch(request: Pick<Deadline, "fail">, doing: string): () => void;
  /** The server has answered: it is there. */
  answered(): void;
  /** A request got no answer, so that the next one is watched again. */
  failed(): void;
  close(): void;
}

/** Where a proxy may stand in between, whether the server itself can be reached says nothing. */
const PROXIES = ["http_proxy", "https_proxy", "all_proxy"];

const UNWATCHED = (): void => undefined;

/**
 * @param ms for the name's resolution and the connection together
 */
export function reachOf({ protocol, hostname, port }: URL, ms: number): Reach {
  const host = hostname.replaceAll(/[[\]]/gu, "");
  const target = { host, port: Number(port) || (protocol === "https:" ? 443 : 80) };
  const proxied = PROXIES.some((name) => process.env[name] || process.env[name.toUpperCase()]);
  const watched = new Set<() => void>();
  let reached = false;
  let attempt: { end(): void } | undefined;

  const end = (): void => {
    attempt?.end();
    attempt = undefined;
  };
  const begin = (): void => {
    attempt ??= tryToConnect(target, ms, (outcome) => {
      attempt = undefined;
      if (outcome === "connected") reached = true;
      // What else went wrong the requests find out themselves, and can say it.
      if (outcome === "late") for (const fail of watched) fail();
    });
  };

  return {
    watch(request, doing) {
      if (reached || proxied) return UNWATCHED;
      const fail = (): void => {
        const says = `no connection to ${host}:${target.port} within ${Math.round(ms / 100) / 10} s`;
        request.fail(
          new StorageError(
            "unavailable",
            `cannot ${doing}: ${says}; check the address, the network and its firewalls`,
            { transient: true },
          ),
        );
      };
      watched.add(fail);
      begin();
      return () => {
        watched.delete(fail);
        if (watched.size === 0) end();
      };
    },
    answered() {
      reached = true;
      watched.clear();
      end();
    },
    failed() {
      reached = false;
    },
    close: end,
  };
}

/** Connects and hangs up again. Keeps no process alive. */
function tryToConnect(
  target: { readonly host: string; readonly port: number },
  ms: number,
  done: (outcome: "connected" | "failed" | "late") => void,
): { end(): void } {
  // Of several addresses any one will do, as it does for `fetch`.
  const several = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1000 };
  const socket: Socket = connect({ ...target, ...several });
  let over = false;
  const finish = (outcome?: "connected" | "failed" | "late"): void => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    socket.destroy();
    if (outcome !== undefined) done(outcome);
  };
  const timer = setTimeout(() => finish("late"), ms);
  timer.unref();
  socket.unref();
  socket.once("connect", () => finish("connected"));
  socket.on("error", () => finish("failed"));
  return { end: () => finish() };
}
