import { type Meter, type Task, createMeter } from "./meter.ts";
import type { Display } from "./display.ts";

/** Tells how far commands are. */
export interface Progress {
  /** Begins to count; nothing is told of what is over soon. */
  begin(task: Task): Meter;
  /** A request had to be made again. */
  retried(): void;
}

export function createProgress(display: Display | undefined): Progress {
  const retries = { count: 0 };
  return {
    begin: (task) => createMeter(task, display, retries),
    retried() {
      retries.count += 1;
    },
  };
}
