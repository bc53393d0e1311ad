import type { Socket } from "node:net";
import { StorageError } from "../../../../errors.ts";
import { TLS_HANDSHAKE } from "../../../http/errors.ts";
import type { BucketConfig } from "../../bucket-config.ts";
import { proxyFor } from "../proxy.ts";
import { serverAddress } from "./server-address.ts";

/** Finds out whether a server uses HTTP although the endpoint says HTTPS, or the reverse. */
export interface ProtocolProbe {
  /** Reports a response to a request: the protocol is the right one. */
  responded(): void;
  /**
   * The error for a request that failed, if the server uses the other protocol. Not transient,
   * because the endpoint has to be changed.
   *
   * @param failure the error code of a request without a response, or the status of a rejection
   *   that has no error code of S3
   * @param action what was attempted and on what, to follow "cannot"
   */
  mismatch(failure: string | number, action: string): Promise<StorageError | undefined>;
}

/** What they report if a server closes the connection, or responds with something else than HTTP. */
const NO_HTTP_RESPONSE = /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET|HPE_\w+|Malformed_HTTP_Response)$/u;

/** For connecting and for the response together, in milliseconds. */
const PROBE_MS = 3000;

/** @param url of the server, as the requests have it */
export function protocolProbe(url: URL, config: BucketConfig): ProtocolProbe {
  const secure = url.protocol === "https:";
  // A proxy responds in place of the server.
  const proxied = proxyFor(url) !== undefined;
  let confirmed = false;

  /** Servers with TLS reject plain HTTP with status 400, or without any response. */
  const isSuspect = (failure: string | number): boolean => {
    if (typeof failure === "number") return !secure && failure === 400;
    return (secure ? TLS_HANDSHAKE : NO_HTTP_RESPONSE).test(failure);
  };

  return {
    responded() {
      confirmed = true;
    },
    async mismatch(failure, action) {
      if (confirmed || proxied || !isSuspect(failure)) return undefined;
      if (!(await (secure ? usesHttp(url) : usesTls(url)))) return undefined;
      const [actual, other] = secure ? ["HTTP", "HTTPS"] : ["HTTPS", "HTTP"];
      return new StorageError(
        "unavailable",
        `cannot ${action}: ${serverAddress(url).text} uses ${actual}, not ${other}; ${remedy(url, config)}`,
      );
    },
  };
}

function remedy(url: URL, { provider, endpoint }: BucketConfig): string {
  const secure = url.protocol === "https:";
  const other = `${secure ? "http" : "https"}://${url.host}`;
  if (provider === "minio") {
    return secure
      ? "set tls=0 in the store URL, or enable TLS on the server"
      : "set tls=1 in the store URL";
  }
  if (provider === "b2") return `check the endpoint: Backblaze B2 uses HTTPS`;
  const change =
    endpoint === undefined
      ? `change the endpoint to ${other}`
      : `set endpoint=${other} in the store URL`;
  return secure ? `${change}, or enable TLS on the server` : change;
}

/** Whether the server responds to a request in plain HTTP, with any status. */
async function usesHttp(url: URL): Promise<boolean> {
  const { host, port } = serverAddress(url);
  const { connect } = process.getBuiltinModule("node:net");
  const socket = connect({ host, port });
  const request = `HEAD / HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n\r\n`;
  return outcome(socket, (finish) => {
    let received = "";
    socket.once("connect", () => socket.write(request));
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
      if (received.length >= HTTP.length) finish(received.startsWith(HTTP));
    });
  });
}

const HTTP = "HTTP/";

/** Whether the server completes a TLS handshake, with any certificate. Sends nothing else. */
async function usesTls(url: URL): Promise<boolean> {
  const { host, port } = serverAddress(url);
  const isName = /[a-z]/iu.test(host) && !host.includes(":");
  const { connect } = process.getBuiltinModule("node:tls");
  const socket = connect({
    host,
    port,
    rejectUnauthorized: false,
    ...(isName ? { servername: host } : {}),
  });
  return outcome(socket, (finish) => socket.once("secureConnect", () => finish(true)));
}

/** Waits for the outcome, which is false if the connection fails or ends before. */
async function outcome(
  socket: Socket,
  listen: (finish: (result: boolean) => void) => void,
): Promise<boolean> {
  return new Promise((resolve) => {
    const finish = (result: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    };
    const timer = setTimeout(() => finish(false), PROBE_MS);
    socket.on("error", () => finish(false));
    socket.on("close", () => finish(false));
    listen(finish);
  });
}
