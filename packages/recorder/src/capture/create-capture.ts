import type { FinishedExchange, RecorderLimits, RecorderOptions } from "../options.ts";
import type { Pipeline } from "../queue/pipeline.ts";
import { countDropped } from "../queue/counters.ts";
import { isThenable } from "../is-thenable.ts";
import type { Header } from "../record/exchange.ts";
import { BodyCopy } from "./body-copy.ts";
import type {
  Capture,
  CapturedExchange,
  ExchangeEnd,
  ExchangeProgress,
  OpenExchange,
} from "./capture.ts";

/** About what an exchange occupies in memory beside its headers and bodies, in bytes. */
const BASE_BYTES = 1024;

/** Hands exchanges that are over to the pipeline. */
export function createCapture(
  { keep }: Pick<RecorderOptions, "keep">,
  { bodyBytes }: Pick<RecorderLimits, "bodyBytes">,
  { budget, counters, faults, push }: Pipeline,
): Capture & { close(): void } {
  const openExchanges = new Set<OpenExchange>();
  let closed = false;

  const isKept = (exchange: CapturedExchange): boolean => {
    if (keep === undefined) return true;
    try {
      const kept: unknown = keep(finishedExchange(exchange));
      if (!isThenable(kept)) return Boolean(kept);
      kept.then(undefined, () => {});
      faults.report("keep returned a promise, so the exchange was recorded");
    } catch {
      // Without the cause, which may contain something of the exchange.
      faults.report("keep threw, so the exchange was recorded");
    }
    return true;
  };

  const aside = (work: () => void): void => {
    try {
      work();
    } catch {
      faults.report("an exchange could not be captured as a whole");
    }
  };

  const finish = (open: OpenExchange, ended?: ExchangeEnd): void => {
    if (!openExchanges.delete(open)) return;
    counters.open -= 1;
    open.over = true;
    const ms = performance.now() - open.startedAt;
    let progress: ExchangeProgress = {};
    aside(() => {
      progress = open.progress();
    });
    const { direction, number, request, requestBody, responseBody, time } = open;
    const { response, route } = progress;
    const more = 2 * lengthOf(response?.headers ?? []);
    const reserved = open.reserved + more;
    // A new object, because the open one leads to the request and the response of the application,
    // which would stay in memory with all that hangs on them until the queue is done with it.
    const captured: CapturedExchange = {
      direction,
      number,
      time,
      request,
      requestBody,
      responseBody,
      response,
      route,
      ended,
      ms,
      reserved,
    };
    if (!isKept(captured)) counters.notKept += 1;
    else if (!budget.takeForRecord(more)) countDropped(counters, "queue");
    else {
      counters.queued += 1;
      push(captured);
      return;
    }
    requestBody?.release();
    responseBody?.release();
    budget.release(open.reserved);
  };

  return {
    begin(direction, request, progress) {
      if (closed) return undefined;
      counters.seen += 1;
      const reserved = BASE_BYTES + 2 * (request.url.length + lengthOf(request.headers));
      if (!budget.takeForRecord(reserved)) {
        countDropped(counters, "queue");
        return undefined;
      }
      counters.open += 1;
      const exchange: OpenExchange = {
        direction,
        number: counters.seen - 1,
        time: Date.now(),
        startedAt: performance.now(),
        request,
        requestBody: undefined,
        responseBody: undefined,
        reserved,
        over: false,
        progress,
      };
      openExchanges.add(exchange);
      return exchange;
    },
    body: () => new BodyCopy(bodyBytes, budget),
    finish,
    aside,
    close() {
      closed = true;
      for (const exchange of openExchanges) finish(exchange, "open");
    },
  };
}

function finishedExchange(exchange: CapturedExchange): FinishedExchange {
  const { direction, ended, ms, request, requestBody, response, responseBody, route } = exchange;
  return {
    direction,
    method: request.method,
    url: request.url,
    route,
    status: response?.status ?? 0,
    ms,
    requestBytes: requestBody?.size ?? 0,
    responseBytes: responseBody?.size ?? 0,
    ended,
  };
}

function lengthOf(headers: readonly Header[]): number {
  let length = 0;
  for (const [name, value] of headers) length += name.length + value.length;
  return length;
}
