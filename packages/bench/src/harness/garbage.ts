import { edenGC } from "bun:jsc";

/** Not a divisor of any suite's number of tasks, so that the whole heap is not always collected before the same one. */
const FULL_EVERY = 11;

let collections = 0;

/**
 * Collects the garbage of the previous run, so that no run pays for another. Mostly only what is new
 * is looked at: a collection of the whole heap takes about 8 ms, ten times as long, and with one
 * before each run the suites would spend more time collecting than measuring.
 */
export function collectGarbage(): void {
  if (collections++ % FULL_EVERY === 0) Bun.gc(true);
  else edenGC();
}
