import type { Server } from "node:http";
import { randomBytes } from "node:crypto";
import { attachToServer } from "./capture/node.ts";
import { createCapture } from "./capture/create-capture.ts";
import { type FetchFunction, recordFetch } from "./capture/outbound.ts";
import { recordHandler, type WebHandler } from "./capture/web.ts";
import { checkRecorderOptions } from "./check-options.ts";
import type { RecorderOptions } from "./options.ts";
import { createOwnContext } from "./own-work.ts";
import { createPipeline } from "./queue/pipeline.ts";
import type { RecorderStats } from "./stats.ts";

/**
 * Records HTTP exchanges. Nothing that it does throws into the application, apart from
 * `createRecorder`, or changes what the application sends or receives.
 */
export interface Recorder {
  /**
   * Records what a server of `node:http` or `node:https` answers, from now on: that is Express,
   * Fastify's `server`, or Hono on Node. Requests that the application takes from the events
   * `upgrade`, `connect` and `checkContinue` are not seen.
   *
   * @returns a function that ends it
   */
  attach(server: Server): () => void;

  /** A handler of web requests, for `Bun.serve` and others, that records what the given one answers. */
  handler<Rest extends unknown[], Answer>(
    handler: WebHandler<Rest, Answer>,
  ): WebHandler<Rest, Answer>;

  /**
   * A `fetch` that records what the application asks of others through it. On Node, do not put it in
   * the place of `globalThis.fetch` if the backend uploads with that.
   */
  fetch<Fetch extends FetchFunction>(fetch: Fetch): Fetch;

  /** What was counted so far. */
  stats(): RecorderStats;

  /**
   * Seals and uploads everything that is over. Never rejects.
   *
   * @param timeoutMs how long to wait for uploads, by default 10,000
   * @returns whether everything is uploaded; what is not, or was dropped, is in the counts
   */
  flush(timeoutMs?: number): Promise<boolean>;

  /**
   * Ends the recording: exchanges that are open are recorded as they are, the last segment ends the
   * run, and what cannot be uploaded in time stays in the spool for the next process. Closes the
   * backend. Never rejects; further calls return the first result.
   *
   * @param timeoutMs how long to wait for uploads, by default 10,000
   * @returns whether everything is uploaded
   */
  close(timeoutMs?: number): Promise<boolean>;
}

const FLUSH_TIMEOUT_MS = 10_000;

/**
 * Creates a recorder. The caller closes it when the application ends, in the handlers of its signals.
 *
 * @throws StorageError `usage`, `key` if an option is wrong
 */
export function createRecorder(options: RecorderOptions): Recorder {
  const limits = checkRecorderOptions(options);
  const run = randomBytes(16).toString("hex");
  const asOwnWork = createOwnContext();
  const pipeline = asOwnWork(() => createPipeline(options, limits, run));
  const capture = createCapture(options, limits, {
    ...pipeline,
    push: (exchange) => asOwnWork(() => pipeline.push(exchange)),
  });
  const detach = new Set<() => void>();
  let closing: Promise<boolean> | undefined;

  const close = async (timeoutMs: number): Promise<boolean> => {
    for (const end of detach) end();
    capture.close();
    return asOwnWork(() => pipeline.close(timeoutMs));
  };

  return {
    attach(server) {
      const end = attachToServer(server, capture);
      detach.add(end);
      return () => {
        detach.delete(end);
        end();
      };
    },
    handler: (handler) => recordHandler(handler, capture),
    fetch: (fetch) => recordFetch(fetch, capture),
    stats: () => pipeline.stats(),
    flush: (timeoutMs = FLUSH_TIMEOUT_MS) => asOwnWork(() => pipeline.flush(timeoutMs)),
    close: (timeoutMs = FLUSH_TIMEOUT_MS) => (closing ??= close(timeoutMs)),
  };
}
