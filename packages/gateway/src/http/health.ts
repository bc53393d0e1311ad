import { timingSafeEqual } from "node:crypto";
import type { Answer } from "./outgoing.ts";

/** What answers the requests that are not S3's. */
export interface HealthOptions {
  /** Rejects if the gateway cannot serve: its catalog or its store does not respond. */
  readonly ready: () => Promise<void>;
  /** The metrics as text. */
  readonly metrics: () => Promise<string>;
  /** Opens `/metrics` to other machines, as a bearer token. */
  readonly metricsToken: () => string | undefined;
}

/** A request for `/healthz`, `/readyz` or `/metrics`. */
export interface HealthRequest {
  readonly method: string;
  readonly target: string;
  readonly authorization: string | undefined;
  /** The IP address of the connection. */
  readonly remote: string;
}

const PLAIN = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };

/**
 * Answers requests about the gateway itself. A bucket may have such a name, too: requests for it are
 * signed.
 *
 * @returns undefined if it is a request of S3
 */
export async function healthAnswer(
  { method, target, authorization, remote }: HealthRequest,
  { ready, metrics, metricsToken }: HealthOptions,
): Promise<Answer | undefined> {
  if (method !== "GET" && method !== "HEAD") return undefined;
  const isSigned = authorization !== undefined && !authorization.startsWith("Bearer ");
  if (isSigned) return undefined;
  switch (target) {
    case "/healthz":
      return { status: 200, headers: PLAIN, body: "ok\n" };
    case "/readyz":
      try {
        await ready();
        return { status: 200, headers: PLAIN, body: "ok\n" };
      } catch {
        // The reason is in the log; here, anybody may ask.
        return { status: 503, headers: PLAIN, body: "not ready\n" };
      }
    case "/metrics": {
      if (!isLoopback(remote) && !hasToken(authorization, metricsToken())) {
        return {
          status: 403,
          headers: PLAIN,
          body: "other machines need the metrics-token of the credentials file, as a bearer token\n",
        };
      }
      const headers = { ...PLAIN, "content-type": "text/plain; version=0.0.4; charset=utf-8" };
      return { status: 200, headers, body: await metrics() };
    }
    default:
      return undefined;
  }
}

/** Whether an IP address is of this machine. */
export function isLoopback(address: string): boolean {
  return address === "::1" || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/u.test(address);
}

function hasToken(authorization: string | undefined, token: string | undefined): boolean {
  if (authorization === undefined || token === undefined) return false;
  const [given, wanted] = [authorization, `Bearer ${token}`].map((text) => Buffer.from(text));
  return (
    given !== undefined &&
    wanted !== undefined &&
    given.length === wanted.length &&
    timingSafeEqual(given, wanted)
  );
}
