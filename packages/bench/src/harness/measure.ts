/** Sampling and printing for the stand-alone scripts. */
import type { Target as ReportedTarget } from "../report/report.ts";
import { median } from "../statistics/describe.ts";
import { interleave } from "./interleave.ts";

/** Processes items concurrently in a number of lanes. `work` receives the number of its lane. */
export async function inLanes<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T, lane: number) => unknown,
): Promise<void> {
  let next = 0;
  const lane = async (_: unknown, index: number) => {
    for (let i = next++; i < items.length; i = next++) await work(items[i]!, index);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** The median with the least and the greatest value: `2.0 (1.0 to 3.0)`. */
export function spread(values: readonly number[], digits: number): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}

/** The time and resources of one run. */
export interface Sample {
  readonly seconds: number;
  /** User and system time of all threads and processes. */
  readonly cpuSeconds: number;
  /** Peak resident memory of the process, bytes. */
  readonly peakRss: number;
}

/** Medians over all rounds. */
export interface Summary extends Sample {
  /** Seconds of each round. */
  readonly all: readonly number[];
}

export function summarize(samples: readonly Sample[]): Summary {
  const all = samples.map(({ seconds }) => seconds);
  return {
    seconds: median(all),
    cpuSeconds: median(samples.map(({ cpuSeconds }) => cpuSeconds)),
    peakRss: median(samples.map(({ peakRss }) => peakRss)),
    all,
  };
}

/**
 * Interleaves tasks that measure themselves, after one warm-up round.
 */
export async function interleavedSamples<Name extends string>(
  rounds: number,
  tasks: Record<Name, (round: number) => Promise<Sample>>,
): Promise<Record<Name, Sample[]>> {
  const names = Object.keys(tasks) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<
    Name,
    Sample[]
  >;
  await interleave(names, { rounds }, async (name, round) => {
    const sample = await tasks[name](round);
    if (round >= 0) samples[name].push(sample);
  });
  return samples;
}

/** A line with time, rate, CPU seconds per GiB and peak memory. */
export function figure(name: string, bytes: number, summary: Summary): string {
  const rate = bytes / 1e6 / summary.seconds;
  const cpu = summary.cpuSeconds / (bytes / 2 ** 30);
  return [
    name.padEnd(24),
    `${spread(summary.all, 2).padStart(22)} s`,
    `${rate.toFixed(0).padStart(6)} MB/s`,
    `${cpu.toFixed(2).padStart(7)} CPU s/GiB`,
    `${mebibytes(summary.peakRss).padStart(6)} MiB peak`,
  ].join("  ");
}

/** Bytes in whole MiB. */
export function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0);
}

/** A value and its bounds. The name includes the unit. */
export type Target = Pick<ReportedTarget, "name" | "value" | "least" | "most">;

export function isMet({ value, least = -Infinity, most = Infinity }: Target): boolean {
  return value >= least && value <= most;
}

/** Prints each target with its outcome. A missed target sets the exit code to 1. */
export function judge(targets: readonly Target[]): void {
  for (const target of targets) {
    const { name, value, least, most } = target;
    const bound = least === undefined ? `at most ${most}` : `at least ${least}`;
    const outcome = isMet(target) ? "met" : "MISSED";
    console.log(`${outcome.padEnd(7)} ${name}: ${value.toFixed(2)}, ${bound}`);
    if (!isMet(target)) process.exitCode = 1;
  }
}
