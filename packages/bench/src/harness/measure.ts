/** What the measuring scripts share. */
import type { Target as ReportedTarget } from "../report/report.ts";
import { median } from "../statistics/describe.ts";
import { interleave } from "./interleave.ts";

/** The median with the smallest and largest value, for people. */
export function spread(values: readonly number[], digits: number): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}

/** What one run of something took. */
export interface Sample {
  readonly seconds: number;
  /** User and system time of all threads and processes. */
  readonly cpuSeconds: number;
  /** Peak resident memory of the process, bytes. */
  readonly peakRss: number;
}

/** Medians over the rounds. */
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
 * Runs tasks that measure themselves in turn, as `interleave` does, after a round to warm up.
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

/** The line of a figure: time, rate, CPU seconds for each GiB, peak memory. */
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

/** Bytes as whole mebibytes. */
export function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0);
}

/** A bound that a figure has to keep; what it is counted in, its name says. */
export type Target = Pick<ReportedTarget, "name" | "value" | "least" | "most">;

export function isMet({ value, least = -Infinity, most = Infinity }: Target): boolean {
  return value >= least && value <= most;
}

/** Prints each target with its outcome. A missed one makes the process's exit code 1. */
export function judge(targets: readonly Target[]): void {
  for (const target of targets) {
    const { name, value, least, most } = target;
    const wanted = least === undefined ? `at most ${most}` : `at least ${least}`;
    const outcome = isMet(target) ? "met" : "MISSED";
    console.log(`${outcome.padEnd(7)} ${name}: ${value.toFixed(2)}, ${wanted}`);
    if (!isMet(target)) process.exitCode = 1;
  }
}
