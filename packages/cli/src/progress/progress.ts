import { type Meter, type Task, createMeter } from "./meter.ts";
import type { Display } from "./display.ts";

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
