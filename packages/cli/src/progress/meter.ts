import { roundBytes } from "../output/text.ts";
import type { Display } from "./display.ts";
import type { ProgressView, Snapshot } from "./snapshot.ts";
import { duration } from "./words.ts";

/** The progress of a command. */
export interface Progress {
  /** Starts counting. Tasks that finish quickly print nothing. */
  start(task: Task): Meter;
  /** Counts a retried request. */
  retried(): void;
}

/** @param signal ends all progress output, so that the interruption is printed last */
export function createProgress(display: Display | undefined, signal?: AbortSignal): Progress {
  const retries = { count: 0 };
  return {
    start(task) {
      const meter = createMeter(task, display, retries);
      signal?.addEventListener("abort", () => meter.finish(), { once: true });
      return meter;
    },
    retried() {
      retries.count += 1;
    },
  };
}

/** A task to be counted. */
export interface Task extends Pick<Snapshot, "command" | "name" | "noun"> {
  readonly totalBytes?: number | undefined;
  readonly totalItems?: number | undefined;
  /** Determines the totals. Runs only if progress is displayed. */
  readonly measure?: ((signal: AbortSignal) => Promise<Totals>) | undefined;
}

export type Totals = Partial<Pick<Snapshot, "totalBytes" | "totalItems">>;

/** The progress of one item so far. */
export interface Amount {
  readonly bytes: number;
  readonly chunks?: number | undefined;
  readonly newBytes?: number | undefined;
  /** For a part that processes several items. */
  readonly items?: number | undefined;
}

/** Counts and displays the progress of a task. */
export interface Meter extends Disposable {
  /** Counts one part, such as an item: each amount replaces the part's previous one. */
  part(): (amount: Amount) => void;
  /** Counts an item that has succeeded or failed. */
  itemDone(): void;
  setTotals(totals: Totals): void;
  /**
   * Ends the display.
   *
   * @returns a summary of amount and speed if progress was displayed
   */
  finish(): string | undefined;
}

interface Done {
  bytes: number;
  chunks: number;
  items: number;
  newBytes: number | undefined;
}

export interface Retries {
  readonly count: number;
}

export function createMeter(
  task: Task,
  display: Display | undefined,
  retries: Retries,
  now: () => number = () => performance.now(),
): Meter {
  const startedAt = now();
  const done: Done = { bytes: 0, chunks: 0, items: 0, newBytes: undefined };
  const rate = createRate();
  const stopped = new AbortController();
  let totals: Totals = task;
  let view: ProgressView | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const retriesBefore = retries.count;

  const state = (at: number): Snapshot => ({
    ...task,
    ...totals,
    ...done,
    elapsedMs: at - startedAt,
    retries: retries.count - retriesBefore,
    bytesPerSecond: rate.perSecond(),
  });
  const tick = (everyMs: number): void => {
    const at = now();
    rate.sample(done.bytes, at);
    view?.show(state(at));
    timer = setTimeout(() => tick(everyMs), everyMs);
    timer.unref();
  };
  const start = async ({ open, everyMs }: Display): Promise<void> => {
    const opened = await open();
    if (stopped.signal.aborted) return opened.end();
    view = opened;
    if (task.measure !== undefined) void measure(task.measure);
    tick(everyMs);
  };
  const measure = async (find: NonNullable<Task["measure"]>): Promise<void> => {
    // The command itself will run into the error and report it.
    const found = await find(stopped.signal).catch(() => ({}));
    totals = { ...totals, ...found };
  };
  const end = (): void => {
    stopped.abort();
    clearTimeout(timer);
    view?.end();
    view = undefined;
  };

  rate.sample(0, startedAt);
  if (display !== undefined) {
    timer = setTimeout(() => void start(display).catch(() => {}), display.firstMs);
    timer.unref();
  }
  return {
    part() {
      let reported = { bytes: 0, chunks: 0, items: 0, newBytes: 0 };
      return ({ bytes, chunks = 0, items = 0, newBytes }) => {
        done.bytes += bytes - reported.bytes;
        done.chunks += chunks - reported.chunks;
        done.items += items - reported.items;
        if (newBytes !== undefined) {
          done.newBytes = (done.newBytes ?? 0) + newBytes - reported.newBytes;
        }
        reported = { bytes, chunks, items, newBytes: newBytes ?? 0 };
      };
    },
    itemDone() {
      done.items += 1;
    },
    setTotals(found) {
      totals = { ...totals, ...found };
    },
    finish() {
      const displayed = view !== undefined;
      end();
      if (!displayed) return undefined;
      const seconds = (now() - startedAt) / 1000;
      return `${roundBytes(done.bytes)} in ${duration(seconds)}, ${roundBytes(done.bytes / seconds)}/s`;
    },
    [Symbol.dispose]: end,
  };
}

/** The recent growth rate of a count. */
export interface Rate {
  /** @param now milliseconds on a monotonic clock */
  sample(count: number, now: number): void;
  /** Units per second over the last seconds; 0 until there are two samples. */
  perSecond(): number;
}

/** Long enough for a steady rate, short enough to show that nothing moves any more. */
const WINDOW_MS = 8000;

export function createRate(): Rate {
  const samples: { readonly count: number; readonly at: number }[] = [];
  return {
    sample(count, now) {
      samples.push({ count, at: now });
      // Keep the last sample before the window, so that there are two even if they are far apart.
      while (samples.length > 2 && samples[1]!.at <= now - WINDOW_MS) samples.shift();
    },
    perSecond() {
      const [first, last] = [samples[0], samples.at(-1)];
      if (first === undefined || last === undefined || last.at <= first.at) return 0;
      return (1000 * (last.count - first.count)) / (last.at - first.at);
    },
  };
}
