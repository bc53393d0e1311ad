import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import type { CapturedExchange } from "../capture/capture.ts";
import type { RecorderLimits, RecorderOptions } from "../options.ts";
import { createRedactor } from "../redact/redactor.ts";
import type { Work } from "../redact/contract.ts";
import { createSealer } from "../segments/seal-segment.ts";
import { createSegmentWriter } from "../segments/segment-writer.ts";
import type { SpooledBlob } from "../spool/files.ts";
import { createOrphans } from "../spool/orphans.ts";
import { createRecentBlobs } from "../spool/recent.ts";
import { type RunState, startStateWriter } from "../spool/run-state.ts";
import { createSpool } from "../spool/spool.ts";
import { createUploader } from "../spool/uploader.ts";
import type { RecorderStats } from "../stats.ts";
import { type Budget, createBudget } from "./budget.ts";
import { type Counters, countDropped, createCounters, totalsOf } from "./counters.ts";
import { createFaults, type Faults } from "./faults.ts";
import { lineOf, recordOf } from "./record.ts";
import { createWorkQueue } from "./work-queue.ts";

/** From an exchange that is over to the store: redact, collect, seal, spool, upload. */
export interface Pipeline {
  readonly budget: Budget;
  readonly counters: Counters;
  readonly faults: Faults;
  push(exchange: CapturedExchange): void;
  stats(): RecorderStats;
  flush(timeoutMs: number): Promise<boolean>;
  close(timeoutMs: number): Promise<boolean>;
}

export function createPipeline(
  options: RecorderOptions,
  limits: RecorderLimits,
  run: string,
): Pipeline {
  const { backend } = options;
  // The application may change its working directory.
  const folder = resolve(options.spool);
  const budget = createBudget(limits.queueBytes);
  const counters = createCounters();
  const faults = createFaults(options.onError);
  const redactor = createRedactor(options.redact ?? [], {
    hashKey: options.hashKey ?? randomBytes(32),
    defaults: options.redactDefaults,
    binaryTypes: options.binaryTypes,
    maxDecodedBytes: limits.bodyBytes,
  });
  const recent = createRecentBlobs();
  const spool = createSpool(folder, run, limits.spoolBytes, recent);
  const uploader = createUploader(backend, folder, limits.uploadMs, faults, recent);
  const sealSegment = createSealer(options);
  const upload = (blobs: readonly SpooledBlob[]): void => {
    uploader.add(blobs, ({ size }) => spool.deleted(size));
  };
  const segments = createSegmentWriter({
    run,
    spool,
    sealSegment,
    budget,
    counters,
    faults,
    segmentBytes: limits.segmentBytes,
    segmentMs: limits.segmentMs,
    async onSealed(blobs) {
      // Before the upload, so that no segment is in the store that the state does not know of.
      await state.write();
      upload(blobs);
    },
  });

  const work = function* (exchange: CapturedExchange): Work<void> {
    const { requestBody, responseBody, reserved, time } = exchange;
    const bodies = [requestBody, responseBody].filter((body) => body !== undefined);
    try {
      const record = yield* recordOf(exchange, redactor, run);
      const bodiesDropped = bodies.filter((body) => body.overBudget).length;
      segments.add({ text: lineOf(record), time, bodiesDropped }, reserved);
    } catch {
      // Without the cause, which may contain something of the exchange.
      faults.report("redaction failed, and the record was dropped");
      countDropped(counters, "redact");
      counters.queued -= 1;
      budget.release(reserved);
    }
    for (const body of bodies) body.release();
  };
  const queue = createWorkQueue(limits.workMs, work);

  const orphans = createOrphans({
    folder,
    run,
    faults,
    orphanMs: limits.orphanMs,
    onOtherBytes: (bytes) => spool.setOtherBytes(bytes),
    adopt: (blobs, uploaded) => uploader.add(blobs, uploaded),
    sealLost,
  });
  async function sealLost(lostRun: string, { prev, seq, totals }: RunState): Promise<boolean> {
    const place = spool.segment(seq, lostRun);
    const now = Date.now();
    try {
      await sealSegment(place.put, new Uint8Array(0), {
        from: now,
        to: now,
        count: 0,
        run: lostRun,
        seq,
        totals,
        end: "lost",
        ...(prev === undefined ? {} : { prev }),
      });
    } catch (cause) {
      faults.report("cannot seal the end of a run that another process left", cause);
      return false;
    }
    upload(place.blobs);
    return true;
  }

  let began = false;
  const state = startStateWriter(folder, run, limits.orphanMs, faults, () => ({
    ...segments.position(),
    totals: totalsOf(counters),
  }));
  void orphans.look();
  const looking = setInterval(() => void orphans.look(), Math.ceil(limits.orphanMs / 3));
  looking.unref();

  const seal = async (end?: "closed"): Promise<boolean> => {
    // Exchanges that are just over still hand in their bodies.
    await new Promise(setImmediate);
    await queue.drained();
    return segments.seal(end);
  };

  return {
    budget,
    counters,
    faults,
    push(exchange) {
      queue.push(exchange);
      // From the first exchange on, a run that ends without being closed is found.
      if (!began) void state.write();
      began = true;
    },
    stats: () => ({
      ...totalsOf(counters),
      open: counters.open,
      queued: counters.queued,
      queuedBytes: budget.used(),
      spoolBytes: spool.bytes(),
      uploaded: uploader.uploaded(),
      faults: faults.count(),
    }),
    async flush(timeoutMs) {
      const deadline = performance.now() + timeoutMs;
      const sealed = await within(timeoutMs, seal());
      return sealed !== undefined && uploader.idle(Math.max(0, deadline - performance.now()));
    },
    async close(timeoutMs) {
      clearInterval(looking);
      const deadline = performance.now() + timeoutMs;
      const ended = (await within(timeoutMs, seal("closed"))) ?? false;
      const idle = await uploader.idle(Math.max(0, deadline - performance.now()));
      uploader.stop();
      const closing = async (): Promise<void> => {
        await state.stop(ended);
        await backend.close?.();
      };
      await within(timeoutMs, closing()).catch((cause: unknown) => {
        faults.report("cannot close the recorder in order", cause);
      });
      return idle && ended;
    },
  };
}

/** The result, or undefined after a time. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}
