import { readFileSync, writeFileSync } from "node:fs";
import type { MemoryPoint } from "../report/report.ts";
import { thinned } from "../statistics/bootstrap.ts";

/** As many as a report holds. */
const POINTS_MOST = 500;

/**
 * Starts the peak of this process's resident memory anew, where the system can: Linux does, for
 * processes that may write to /proc.
 *
 * @returns whether it did; otherwise `peakRss` is that of the whole process so far
 */
export function resetPeakRss(): boolean {
  try {
    writeFileSync("/proc/self/clear_refs", "5");
    return true;
  } catch {
    return false;
  }
}

/**
 * The largest resident memory of this process, in bytes, since it was reset. On Linux by
 * /proc/self/status, because what getrusage says is never less than the peak of the process that
 * started this one, and is not reset below that (getrusage(2), proc_pid_status(5): VmHWM).
 */
export function peakRss(): number {
  const [, kibibytes] = /^VmHWM:\s*(\d+) kB$/mu.exec(ownStatus()) ?? [];
  return 1024 * (kibibytes === undefined ? process.resourceUsage().maxRSS : Number(kibibytes));
}

/** Empty where the system has none. */
function ownStatus(): string {
  try {
    return readFileSync("/proc/self/status", "utf8");
  } catch {
    return "";
  }
}

export interface MemoryTrace {
  /** At most 500. */
  readonly points: readonly MemoryPoint[];
  /** Bytes. */
  readonly peak: number;
}

/**
 * Watches the resident memory of this process: at the beginning, at the end, and in between as often
 * as the event loop has time for it.
 *
 * @param every milliseconds
 * @returns ends it, and says what was seen; to be called in any case
 */
export function watchMemory(every = 20): () => MemoryTrace {
  const exact = resetPeakRss();
  const start = performance.now();
  const points: MemoryPoint[] = [];
  const look = (): void => {
    points.push({ at: (performance.now() - start) / 1000, rss: process.memoryUsage.rss() });
  };
  look();
  const timer = setInterval(look, every);
  return () => {
    clearInterval(timer);
    look();
    const seen = Math.max(...points.map(({ rss }) => rss));
    return {
      points: thinned(points, POINTS_MOST),
      peak: exact ? Math.max(seen, peakRss()) : seen,
    };
  };
}
