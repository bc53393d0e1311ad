import type { Socket } from "node:net";
import { StorageError } from "../../../../errors.ts";
import type { Deadline } from "../../../http/deadline.ts";
import { proxyFor } from "../proxy.ts";
import { type ServerAddress, serverAddress } from "./server-address.ts";

/** Milliseconds after which the probe starts, or a quarter of those to connect if that is shorter. */
const FIRST = 500;

/**
 * Tests whether a server that has not responded for a moment accepts connections, because `fetch` does not
 * distinguish one that cannot be reached from one that is slow. See
 * docs/decisions/0009-a-connection-beside-a-late-response.md.
 */
export interface ConnectProbe {
  /**
   * Fails a request if no connection succeeds in time. Does nothing if the server responded last
   * time.
   *
   * @returns a function to call when the request has ended
   */
  watch(request: Pick<Deadline, "fail">, action: string): () => void;
  /** Reports that the server responded, so it can be reached. */
  responded(): void;
  /** Reports a request without a response, so that the next request is watched again. */
  failed(): void;
  close(): void;
}

const NOT_WATCHED = (): void => undefined;

/**
 * @param ms for name resolution and connecting together
 */
export function connectProbe(url: URL, ms: number): ConnectProbe {
  const server = serverAddress(url);
  // If there is a proxy, a direct connection to the server proves nothing.
  const proxied = proxyFor(url) !== undefined;
  const watched = new Set<() => void>();
  let reachable = false;
  let attempt: { cancel(): void } | undefined;

  const cancel = (): void => {
    attempt?.cancel();
    attempt = undefined;
  };
  const start = (): void => {
    attempt ??= tryToConnect(server, ms, (outcome) => {
      attempt = undefined;
      if (outcome === "connected") reachable = true;
      // Any other failure also occurs in the requests themselves, which report it.
      if (outcome === "timeout") for (const fail of watched) fail();
    });
  };

  return {
    watch(request, action) {
      if (reachable || proxied) return NOT_WATCHED;
      const fail = (): void => {
        const seconds = Math.round(ms / 100) / 10;
        request.fail(
          new StorageError(
            "unavailable",
            `cannot ${action}: no connection to ${server.text} within ${seconds} s; check the address, the network and its firewalls`,
            { transient: true },
          ),
        );
      };
      watched.add(fail);
      start();
      return () => {
        watched.delete(fail);
        if (watched.size === 0) cancel();
      };
    },
    responded() {
      reachable = true;
      watched.clear();
      cancel();
    },
    failed() {
      reachable = false;
    },
    close: cancel,
  };
}

/** Waits a little, connects and disconnects. Does not keep the process alive. */
function tryToConnect(
  { host, port }: ServerAddress,
  ms: number,
  done: (outcome: "connected" | "failed" | "timeout") => void,
): { cancel(): void } {
  const first = Math.min(FIRST, ms / 4);
  let socket: Socket | undefined;
  let timer: NodeJS.Timeout;
  let over = false;
  const finish = (outcome?: "connected" | "failed" | "timeout"): void => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    socket?.destroy();
    if (outcome !== undefined) done(outcome);
  };
  const begin = (): void => {
    // From now on, so that it is not over already after a pause of the whole process.
    timer = unreferenced(() => finish("timeout"), ms - first);
    // Loaded here, because it takes several milliseconds and most servers respond before this.
    const { connect } = process.getBuiltinModule("node:net");
    // If the host has several addresses, any of them will do, as for `fetch`.
    const anyAddress = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1000 };
    socket = connect({ host, port, ...anyAddress });
    socket.unref();
    socket.once("connect", () => finish("connected"));
    socket.on("error", () => finish("failed"));
  };
  timer = unreferenced(begin, first);
  return { cancel: () => finish() };
}

function unreferenced(work: () => void, ms: number): NodeJS.Timeout {
  return setTimeout(work, ms).unref();
}
