import { edenGC } from "bun:jsc";

/** Not a divisor of any suite's number of tasks, so that the whole heap is not always collected before the same one. */
const FULL_EVERY = 11;

/** Growth of the resident memory, in bytes, after which the whole heap is collected and returned. */
const GROWTH_MAX = 16 * 2 ** 20;

let collections = 0;
let rssAfterFull = 0;

/**
 * Collects the garbage of the previous run, so that no run pays for another with time or memory.
 *
 * A collection of the whole heap takes about 8 ms. Before each run, the suites would spend more time
 * collecting than measuring, so if memory has not grown, mostly only what is new is collected, in a
 * tenth of that time.
 */
export function collectGarbage(): void {
  edenGC();
  const grown = process.memoryUsage.rss() - rssAfterFull > GROWTH_MAX;
  if (collections++ % FULL_EVERY !== 0 && !grown) return;
  Bun.gc(true);
  rssAfterFull = process.memoryUsage.rss();
}
