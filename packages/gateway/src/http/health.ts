import { timingSafeEqual } from "node:crypto";
import type { Answer } from "./connection/outgoing.ts";

/** What answers the requests that are not S3's. */
export interface HealthOptions {
  /** Rejects if the gateway cannot serve: its catalog or its store does not respond. */
  readonly ready: () => Promise<void>;
  /** The metrics as text. */
  readonly metrics: () => Promise<string>;
  /** Opens `/metrics`, as a bearer token. Without one, only this machine may read them. */
  readonly metricsToken: () => string | undefined;
}

/** A request for `/healthz`, `/readyz` or `/metrics`. */
export interface HealthRequest {
  readonly method: string;
  readonly target: string;
  readonly authorization: string | undefined;
  /** Whether the client is on this machine, and no proxy forwards for it. */
  readonly isLocal: boolean;
}

const PLAIN = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };

/**
 * Answers requests about the gateway itself. A bucket may have such a name, too: requests for it are
 * signed.
 *
 * @returns undefined if it is a request of S3
 */
export async function healthAnswer(
  { method, target, authorization, isLocal }: HealthRequest,
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
      const token = metricsToken();
      // With a token, it is asked of all: something on this machine may forward for others.
      if (token === undefined ? !isLocal : !hasToken(authorization, token)) {
        return {
          status: 403,
          headers: PLAIN,
          body: "this needs the metrics-token of the credentials file, as a bearer token\n",
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

function hasToken(authorization: string | undefined, token: string): boolean {
  if (authorization === undefined) return false;
  const [given, wanted] = [authorization, `Bearer ${token}`].map((text) => Buffer.from(text));
  return (
    given !== undefined &&
    wanted !== undefined &&
    given.length === wanted.length &&
    timingSafeEqual(given, wanted)
  );
}
