import { S3Error } from "../../errors.ts";
import type { ObjectMetrics } from "../../objects/objects.ts";
import type { Exchange } from "./exchange.ts";

/** Watches a request that may have to wait for memory. */
export interface LimitedWait {
  /** Fires if the client is gone; or, with `SlowDown`, if the request waited for too long. */
  readonly signal: AbortSignal;
  /** The request has its answer. */
  end(): void;
}

/** Operations that move content, and for that need memory. */
const WAITING = new Set(["PutObject", "UploadPart", "GetObject"]);

/** How long such a request may stand still while others wait, in ms: half of what clients allow. */
const WAIT_MS = 30_000;

/**
 * A request that waits for memory while no byte of it moves has an answer before its client gives up:
 * `SlowDown`, with which clients wait longer, and send less at once.
 */
export function limitedWait(
  { incoming, sent, signal }: Pick<Exchange, "incoming" | "sent" | "signal">,
  operation: string,
  metrics: () => Pick<ObjectMetrics, "budgetWaiting">,
  waitMs = WAIT_MS,
): LimitedWait {
  if (!WAITING.has(operation)) return { signal, end: () => {} };
  const busy = new AbortController();
  let moved = 0;
  let since = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    const bytes = incoming.count() + sent();
    // A client that sends nothing has its own limit.
    if (bytes !== moved || incoming.isWaiting() || metrics().budgetWaiting === 0) {
      moved = bytes;
      since = now;
    } else if (now - since >= waitMs) {
      clearInterval(timer);
      busy.abort(new S3Error("SlowDown", undefined, { closesConnection: true }));
    }
  }, waitMs / 6);
  timer.unref();
  return { signal: AbortSignal.any([signal, busy.signal]), end: () => clearInterval(timer) };
}
