import { roundBytes } from "../output/text.ts";
import type { Display } from "./display.ts";
import type { Presenter, Snapshot } from "./snapshot.ts";
import { duration } from "./words.ts";

/** Tells how far commands are. */
export interface Progress {
  /** Begins to count; nothing is told of what is over soon. */
  begin(task: Task): Meter;
  /** A request had to be made again. */
  retried(): void;
}

/** @param signal ends all telling: what is said of an interruption is the last */
export function createProgress(display: Display | undefined, signal?: AbortSignal): Progress {
  const retries = { count: 0 };
  return {
    begin(task) {
      const meter = createMeter(task, display, retries);
      signal?.addEventListener("abort", () => meter.finish(), { once: true });
      return meter;
    },
    retried() {
      retries.count += 1;
    },
  };
}

/** What a command is about to do. */
export interface Task extends Pick<Snapshot, "command" | "name" | "noun"> {
  readonly totalBytes?: number | undefined;
  readonly totalItems?: number | undefined;
  /** Finds out what there is to do in all. Begun only where somebody gets to see it. */
  readonly measure?: ((signal: AbortSignal) => Promise<Totals>) | undefined;
}

export type Totals = Partial<Pick<Snapshot, "totalBytes" | "totalItems">>;

/** What one item has done so far, in all. */
export interface Amount {
  readonly bytes: number;
  readonly chunks?: number | undefined;
  /** Where it is many that are done, and nobody tells of each. */
  readonly items?: number | undefined;
}

/** Counts what a command does, and has it told. Is let go of at the end, whatever comes. */
export interface Meter extends Disposable {
  /** Counts one item, or one stretch of one: what is told of it replaces what was told before. */
  part(): (amount: Amount) => void;
  /** An item is done, or has failed. */
  itemDone(): void;
  setTotals(totals: Totals): void;
  /**
   * Ends the telling.
   *
   * @returns what was done how fast, where people have been watching and would miss it
   */
  finish(): string | undefined;
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
  const begun = now();
  const done = { bytes: 0, chunks: 0, items: 0 };
  const rate = createRate();
  const stopped = new AbortController();
  let totals: Totals = task;
  let presenter: Presenter | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const retriesBefore = retries.count;

  const state = (at: number): Snapshot => ({
    ...task,
    ...totals,
    ...done,
    elapsedMs: at - begun,
    retries: retries.count - retriesBefore,
    bytesPerSecond: rate.perSecond(),
  });
  const tick = (everyMs: number): void => {
    const at = now();
    rate.sample(done.bytes, at);
    presenter?.show(state(at));
    timer = setTimeout(() => tick(everyMs), everyMs);
    timer.unref();
  };
  const start = async ({ open, everyMs }: Display): Promise<void> => {
    const opened = await open();
    if (stopped.signal.aborted) return opened.end();
    presenter = opened;
    if (task.measure !== undefined) void measure(task.measure);
    tick(everyMs);
  };
  const measure = async (find: NonNullable<Task["measure"]>): Promise<void> => {
    // The command finds out for itself what is wrong, and says so.
    const found = await find(stopped.signal).catch(() => ({}));
    totals = { ...totals, ...found };
  };
  const end = (): void => {
    stopped.abort();
    clearTimeout(timer);
    presenter?.end();
    presenter = undefined;
  };

  rate.sample(0, begun);
  if (display !== undefined) {
    timer = setTimeout(() => void start(display).catch(() => {}), display.firstMs);
    timer.unref();
  }
  return {
    part() {
      let told = { bytes: 0, chunks: 0, items: 0 };
      return ({ bytes, chunks = 0, items = 0 }) => {
        done.bytes += bytes - told.bytes;
        done.chunks += chunks - told.chunks;
        done.items += items - told.items;
        told = { bytes, chunks, items };
      };
    },
    itemDone() {
      done.items += 1;
    },
    setTotals(found) {
      totals = { ...totals, ...found };
    },
    finish() {
      const watched = presenter !== undefined;
      end();
      if (!watched) return undefined;
      const seconds = (now() - begun) / 1000;
      return `${roundBytes(done.bytes)} in ${duration(seconds)}, ${roundBytes(done.bytes / seconds)}/s`;
    },
    [Symbol.dispose]: end,
  };
}

/** How fast a count grows, of late. */
export interface Rate {
  /** Takes the count as it is now; milliseconds that never go back. */
  sample(count: number, now: number): void;
  /** Units per second over the last seconds; 0 before there is anything to compare. */
  perSecond(): number;
}

/** Long enough to be steady, short enough to notice that nothing moves any more. */
const WINDOW_MS = 8000;

export function createRate(): Rate {
  const samples: { readonly count: number; readonly at: number }[] = [];
  return {
    sample(count, now) {
      samples.push({ count, at: now });
      // What lies just before the window stays: where samples are far apart, there are two.
      while (samples.length > 2 && samples[1]!.at <= now - WINDOW_MS) samples.shift();
    },
    perSecond() {
      const [first, last] = [samples[0], samples.at(-1)];
      if (first === undefined || last === undefined || last.at <= first.at) return 0;
      return (1000 * (last.count - first.count)) / (last.at - first.at);
    },
  };
}
