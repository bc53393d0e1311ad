import { availableParallelism } from "node:os";
import { setTimeout } from "node:timers/promises";
import { createDigestThreads } from "./body/threads.ts";
import { gaugesOf } from "./gauges.ts";
import { trustedProxies } from "./http/forwarded.ts";
import { createMetrics } from "./http/metrics.ts";
import { type HttpServer, listen, type TlsFiles } from "./http/server.ts";
import { shared } from "./http/shared.ts";
import { createBudget } from "./objects/memory/budget.ts";
import { refusalLog } from "./serving/log.ts";
import type { Context, GatewayOptions } from "./serving/options.ts";
import { serve } from "./serving/serve.ts";

/** A gateway that serves. */
export interface Gateway {
  /** Such as `http://127.0.0.1:9000`. */
  readonly url: string;
  /**
   * Uses another certificate for new connections.
   *
   * @throws Error if it is not one, does not belong to its key, or there was none; the old one stays
   */
  setCertificate(files: TlsFiles): void;
  /**
   * Accepts no more requests, and lets those in progress end. The catalog and objects stay open.
   *
   * @param graceMs how long requests in progress may take; by default 30 s
   */
  close(graceMs?: number): Promise<void>;
}

const GRACE_MS = 30_000;
/** Memory for long documents of XML, in bodies and answers. */
const DOCUMENTS_BYTES = 16 * 2 ** 20;
/**
 * How long clients may take for a document while others wait for its memory, and stall, in ms. One that takes
 * an answer at 300 KB/s seems to stall for up to a second, because its connection is only written to once a
 * third of its buffer is free.
 */
const DOCUMENT_TIMES = { slice: 1000, stall: 2000 };
/** How long the outcome of a check is kept, in ms, because anybody may ask for it. */
const READY_TIMES = { ok: 1500, failed: 5000 };
/** How long a check may take, in ms. */
const READY_MS = 5000;
const METRICS_TIMES = { ok: 1000, failed: 1000 };

/** Serves S3 until it is closed. Throws Error for a proxy that is no address. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { log = () => {}, metrics = createMetrics() } = options;
  const { catalog, objects, checkStore, digestThreads = defaultThreads() } = options;
  const isTrusted = trustedProxies(options.trustedProxies ?? []);
  const threads = digestThreads === 0 ? undefined : createDigestThreads(digestThreads);
  const documents = createBudget(DOCUMENTS_BYTES, DOCUMENT_TIMES);
  const context: Context = {
    options,
    metrics,
    threads,
    documents,
    isTrusted,
    log,
    ready: shared(async () => {
      const starting = options.starting?.();
      if (starting !== undefined) throw new Error(starting);
      await Promise.race([Promise.all([catalog.ping(), checkStore()]), tooLate()]);
    }, READY_TIMES),
    metricsText: shared(
      async () => metrics.text(await gaugesOf({ catalog, objects, server, threads, documents })),
      METRICS_TIMES,
    ),
  };
  const server: HttpServer = await listen(
    options.listen,
    async (exchange) => serve(exchange, context),
    refusalLog(context),
  );
  return {
    url: server.url,
    setCertificate: server.setCertificate,
    async close(graceMs = GRACE_MS) {
      await server.close(graceMs);
      await threads?.close();
    },
  };
}

/** Rejects when a check has taken too long: a health check has an answer even if a database stalls. */
async function tooLate(): Promise<never> {
  await setTimeout(READY_MS, undefined, { ref: false });
  throw new Error("the catalog or the store does not respond");
}

function defaultThreads(): number {
  return Math.max(1, Math.min(4, availableParallelism() - 1));
}
