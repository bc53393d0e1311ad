/** Measured rounds of interleaved work, and more of them while noise hides a verdict. */
import { edenGC, gcAndSweep } from "bun:jsc";
import type { Measurement, Target } from "../report/report.ts";
import { type Rounds, interleave } from "./interleave.ts";
import { measurePeak } from "./memory.ts";
import { type Labels, type Lookup, type Sample, lookup, measurementOf } from "./results.ts";
import { SAMPLES_LEAST } from "./targets.ts";

export interface Sampling extends Rounds {
  /** While a target is inconclusive, rounds are added until there are this many times as many. By default 3. */
  readonly budget?: number | undefined;
}

export interface Sampled {
  readonly measurements: readonly Measurement[];
  readonly targets: readonly Target[];
}

/** Something that measures itself, such as another process, and may take several samples at once. */
export interface Lane {
  /** One for each sample. */
  readonly labels: readonly Labels[];
  /** Compares by SHA-256 what was done, outside of the measured time, and throws if it is wrong. */
  sample(): Promise<readonly Sample[]>;
}

/**
 * Interleaves lanes. While a target is inconclusive, adds half as many rounds, up to the budget, unless even
 * those are too few samples for a verdict.
 *
 * @param targetsOf computes targets from the measurements so far
 */
export async function sampleLanes(
  lanes: readonly Lane[],
  { rounds, budget = 3, warmups = 1, signal }: Sampling,
  targetsOf: (of: Lookup) => readonly Target[] = () => [],
): Promise<Sampled> {
  const taken = lanes.map((lane) => ({ lane, columns: lane.labels.map((): Sample[] => []) }));
  const more = { rounds: Math.ceil(rounds / 2), warmups: 0 };
  let all = 0;
  for (let next = { rounds, warmups }; ; next = more) {
    await interleave(taken, { ...next, signal }, async ({ lane, columns }, round) => {
      const samples = await lane.sample();
      if (round >= 0) for (const [i, sample] of samples.entries()) columns[i]!.push(sample);
    });
    all += next.rounds;
    const measurements = taken.flatMap(({ lane, columns }) =>
      columns.map((samples, i) => measurementOf(lane.labels[i]!, samples)),
    );
    const targets = targetsOf(lookup(measurements));
    const open = targets.some(({ verdict }) => verdict === "inconclusive");
    const most = budget * rounds;
    if (!open || all >= most || most < SAMPLES_LEAST) return { measurements, targets };
  }
}

/** One thing to measure in this process. */
export interface Task<Result = unknown> extends Labels {
  /** Unmeasured preparation before each run. */
  prepare?(): unknown;
  /** One operation. If it throws, the benchmark fails. */
  run(): Result;
  /** Operations per sample, which is their mean, if one is too short to be timed. By default 1. */
  readonly calls?: number | undefined;
  /**
   * Unmeasured check after each sample: compares the last result, or the same operation done once more, by
   * SHA-256 and throws if it is wrong.
   */
  check?(result: Awaited<Result>): unknown;
}

/** Everything is collected before runs on as many bytes, and once resident memory has grown by them. */
const LARGE = 8 * 2 ** 20;

/**
 * Interleaves tasks like lanes and measures each run: seconds, CPU time and peak memory of the process.
 * Garbage is collected before each run, so that no task pays for another: what is new, and if there may be
 * much, or once in a round, everything. That takes some 15 ms once a few suites have run, longer than most
 * operations.
 */
export function sampleInterleaved(
  tasks: readonly Task[],
  sampling: Sampling,
  targetsOf?: (of: Lookup) => readonly Target[],
): Promise<Sampled> {
  const { rss } = process.memoryUsage;
  let [taken, least] = [0, 0];
  const collect = ({ bytesPerOperation = 0 }: Task) => {
    const isFirst = taken++ % tasks.length === 0;
    if (bytesPerOperation >= LARGE || rss() >= least + LARGE) {
      // Gives memory back to the system. It drops compiled code, too, so that the next run is a cold one.
      Bun.gc(true);
      least = rss();
    } else if (isFirst) gcAndSweep();
    else edenGC();
  };
  const lanes = tasks.map((task) => ({
    labels: [task],
    sample: async () => [await sampleOf(task, collect)],
  }));
  return sampleLanes(lanes, sampling, targetsOf);
}

async function sampleOf(task: Task, collect: (task: Task) => void): Promise<Sample> {
  const { calls = 1 } = task;
  await task.prepare?.();
  collect(task);
  const { result, seconds, cpuSeconds, peakRss } = await measurePeak(async () => {
    for (let i = 1; i < calls; i++) {
      const result = task.run();
      // A wait would take longer than a short operation.
      if (result instanceof Promise) await result;
    }
    return task.run();
  });
  await task.check?.(result);
  return { seconds: seconds / calls, cpuSeconds: cpuSeconds / calls, peakRss };
}
