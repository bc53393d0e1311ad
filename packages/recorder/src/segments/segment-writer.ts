import { StorageError } from "@idk/storage";
import type { Budget } from "../queue/budget.ts";
import { type Counters, countDropped, totalsOf } from "../queue/counters.ts";
import type { Faults } from "../queue/faults.ts";
import type { SpooledBlob } from "../spool/files.ts";
import type { Spool } from "../spool/spool.ts";
import type { SegmentMetadata } from "./metadata.ts";
import type { SealSegment } from "./seal-segment.ts";

/** Collects lines into segments, and seals them into the spool, one after the other. */
export interface SegmentWriter {
  /** @param reserved bytes of the budget that the line takes over */
  add(line: RecordLine, reserved: number): void;
  /**
   * Seals the open segment, if it has lines, and waits for those before it.
   *
   * @param end ends the run, with a segment even if there are no lines
   * @returns whether the last segment is in the spool
   */
  seal(end?: "closed"): Promise<boolean>;
  /** Where the run is now, for whoever finds it after this process was killed. */
  position(): { readonly seq: number; readonly prev: string | undefined };
}

/** A line of a segment. */
export interface RecordLine {
  /** JSON, without the line feed. */
  readonly text: string;
  /** When its exchange began: milliseconds since 1970. */
  readonly time: number;
  /** Bodies that it lacks because too many bytes were queued. */
  readonly bodiesDropped: number;
}

/** What a segment writer works with. */
export interface SegmentWriterOptions {
  readonly run: string;
  readonly spool: Spool;
  readonly sealSegment: SealSegment;
  readonly segmentBytes: number;
  readonly segmentMs: number;
  readonly budget: Budget;
  readonly counters: Counters;
  readonly faults: Faults;
  /** Called when a segment is in the spool. Must not throw. */
  readonly onSealed: (blobs: readonly SpooledBlob[]) => Promise<void>;
}

interface OpenSegment {
  /** What the buffer is the beginning of. */
  readonly memory: Buffer<ArrayBuffer>;
  /** The lines in UTF-8, each ended by a line feed; with room after them. */
  readonly buffer: Buffer<ArrayBuffer>;
  used: number;
  from: number;
  to: number;
  count: number;
  bodiesDropped: number;
}

export function createSegmentWriter(options: SegmentWriterOptions): SegmentWriter {
  const { run, spool, budget, counters, faults, segmentBytes } = options;
  let open: OpenSegment | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let tail: Promise<void> = Promise.resolve();
  let seq = 0;
  let prev: string | undefined;
  let lastStored = true;
  /** The memory of a segment that is sealed. One is enough unless the disk is slow. */
  let idle: Buffer<ArrayBuffer> | undefined;

  const begin = (length: number): OpenSegment => {
    const size = Math.max(length, segmentBytes);
    const reuse = idle !== undefined && idle.length >= size ? idle : undefined;
    if (reuse !== undefined) idle = undefined;
    const memory = reuse ?? Buffer.allocUnsafeSlow(size);
    const buffer = memory.subarray(0, size);
    timer = setTimeout(sealOpen, options.segmentMs);
    timer.unref();
    return { memory, buffer, used: 0, from: Infinity, to: 0, count: 0, bodiesDropped: 0 };
  };

  const sealOpen = (): void => {
    clearTimeout(timer);
    const segment = open;
    open = undefined;
    if (segment !== undefined) tail = tail.then(() => store(segment));
  };

  /** Never rejects: what cannot be stored is dropped, and counted. */
  const store = async (segment: OpenSegment, end?: "closed"): Promise<void> => {
    const { buffer, bodiesDropped, count, from, memory, to, used } = segment;
    const place = spool.segment(seq);
    try {
      const metadata: SegmentMetadata = {
        from,
        to,
        count,
        run,
        seq,
        ...(prev === undefined ? {} : { prev }),
        totals: totalsOf(counters, {
          count,
          bodiesDropped,
        }),
        ...(end === undefined ? {} : { end }),
      };
      prev = await options.sealSegment(place.put, buffer.subarray(0, used), metadata);
      seq += 1;
      counters.stored += count;
      counters.bodiesDropped += bodiesDropped;
      lastStored = true;
      await options.onSealed(place.blobs);
    } catch (cause) {
      const noSpool = cause instanceof StorageError && cause.code === "unavailable";
      const reason = noSpool ? "spool" : "seal";
      lastStored = false;
      countDropped(counters, reason, count);
      faults.report(`a segment of ${count} exchanges was dropped`, cause);
      await place.discard().catch((error: unknown) => faults.report("cannot delete a file", error));
    }
    counters.queued -= count;
    budget.release(used);
    const isLonger = memory.length > (idle?.length ?? 0);
    if (isLonger && memory.length <= KEPT_BYTES_MAX) idle = memory;
  };

  return {
    add({ bodiesDropped, text, time }, reserved) {
      // A unit of UTF-16 takes up to three bytes, so that they are seldom counted before.
      if (open === undefined || open.used + 3 * text.length >= open.buffer.length) {
        const needed = Buffer.byteLength(text) + 1;
        if (open !== undefined && open.used + needed > open.buffer.length) sealOpen();
        open ??= begin(needed);
      }
      const length = open.buffer.write(text, open.used) + 1;
      open.used += length;
      open.buffer[open.used - 1] = LINE_FEED;
      open.count += 1;
      open.from = Math.min(open.from, time);
      open.to = Math.max(open.to, time);
      open.bodiesDropped += bodiesDropped;
      budget.move(length);
      budget.release(reserved);
    },
    async seal(end) {
      if (end !== undefined && counters.seen > 0) {
        const now = Date.now();
        const last = open ?? { ...EMPTY, from: now, to: now };
        open = undefined;
        clearTimeout(timer);
        tail = tail.then(() => store(last, end));
      }
      sealOpen();
      await tail;
      return lastStored;
    },
    position: () => ({ seq, prev }),
  };
}

const LINE_FEED = 10;
/** Lines that take more are rare, and their memory is not kept. */
const KEPT_BYTES_MAX = 4 * 2 ** 20;
const NO_BYTES = Buffer.alloc(0);
const EMPTY: OpenSegment = {
  memory: NO_BYTES,
  buffer: NO_BYTES,
  used: 0,
  from: 0,
  to: 0,
  count: 0,
  bodiesDropped: 0,
};
