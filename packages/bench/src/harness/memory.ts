/** Time and memory of work in this process. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { MemoryPoint } from "../report/report.ts";
import { thinned } from "../statistics/bootstrap.ts";

/** The limit of the report's schema. */
const POINTS_MOST = 500;

/** Only on Linux. */
const STATUS = "/proc/self/status";

/** Seconds, those of CPU time of all threads, and peak resident memory in bytes. */
export interface Taken {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakRss: number;
}

export type Measured<T> = Taken & { readonly result: T };

/**
 * Measures work. The peak is that of the work alone if the system can reset it; otherwise it is the
 * resident memory afterwards, a lower bound.
 */
export async function measurePeak<T>(work: () => Promise<T>): Promise<Measured<T>> {
  const reset = resetPeakRss();
  const cpu = process.cpuUsage();
  const start = performance.now();
  const result = await work();
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const peak = reset ? peakRss() : process.memoryUsage.rss();
  return { result, seconds, cpuSeconds: (user + system) / 1e6, peakRss: peak };
}

/**
 * Resets the peak resident memory of this process, if the system can: on Linux, if /proc is writable.
 *
 * @returns whether it was reset; if not, `peakRss` is the peak since the process started
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
 * Peak resident memory of this process in bytes since the last reset. Reads /proc/self/status on Linux,
 * because the value of getrusage is never less than the peak of the parent process and cannot be reset
 * below it (getrusage(2), proc_pid_status(5): VmHWM).
 */
export function peakRss(): number {
  return highWaterMark(STATUS) ?? 1024 * process.resourceUsage().maxRSS;
}

/**
 * Peak resident memory of another process in bytes since it started; where the system does not tell, what it
 * has now, a lower bound.
 */
export function peakRssOf(pid: number): number {
  const peak = highWaterMark(`/proc/${pid}/status`);
  if (peak !== undefined) return peak;
  const { stdout } = Bun.spawnSync(["ps", "-o", "rss=", "-p", String(pid)]);
  return 1024 * Number(stdout.toString());
}

function highWaterMark(file: string): number | undefined {
  const status = existsSync(file) ? readFileSync(file, "utf8") : "";
  const [, kibibytes] = /^VmHWM:\s*(\d+) kB$/mu.exec(status) ?? [];
  return kibibytes === undefined ? undefined : 1024 * Number(kibibytes);
}

/**
 * Records resident memory and heap of this process at the start, at the end, and in between whenever
 * the event loop is free.
 *
 * @param every interval in milliseconds
 * @returns stops recording and returns at most 500 points and the peak in bytes; it must be called
 */
export function watchMemory(every = 20): () => { points: MemoryPoint[]; peak: number } {
  const exact = resetPeakRss();
  const start = performance.now();
  const points: MemoryPoint[] = [];
  const record = (): void => {
    const { rss, heapUsed: heap } = process.memoryUsage();
    points.push({ at: (performance.now() - start) / 1000, rss, heap });
  };
  record();
  const timer = setInterval(record, every);
  return () => {
    clearInterval(timer);
    record();
    const seen = Math.max(...points.map(({ rss }) => rss));
    const peak = exact ? Math.max(seen, peakRss()) : seen;
    return { points: thinned(points, POINTS_MOST), peak };
  };
}
