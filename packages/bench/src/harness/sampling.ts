import type { Target } from "../report/report.ts";
import { seededRandom } from "../statistics/random.ts";
import { interleave } from "./interleave.ts";
import { measurePeak } from "./memory.ts";
import { type Labels, type Lookup, type Sample, lookup, measurementOf } from "./results.ts";
import { type Sampled, type Sampling, untilSettled } from "./rounds.ts";

export type { Sampled, Sampling } from "./rounds.ts";

/** One thing to measure. */
export interface Task<Result = unknown> extends Labels {
  /** Unmeasured preparation before each run. */
  prepare?(): unknown;
  /** One operation. If it throws, the benchmark fails. */
  run(): Result;
  /**
   * Operations per sample, which is their mean: for operations too short to be timed alone, of which
   * CPU time or a ratio is wanted. By default 1.
   */
  readonly calls?: number | undefined;
  /**
   * Unmeasured check after each sample: compares the last result, or the same operation done once more, by
   * SHA-256 and throws if it is wrong.
   */
  check?(result: Awaited<Result>): unknown;
}

/**
 * Interleaves tasks and measures each run: seconds, CPU time and peak memory of the process. Garbage is
 * collected before each run, so that no task pays for another. While a target is inconclusive, rounds are
 * added (`untilSettled`).
 *
 * @param targetsOf computes targets from the measurements so far
 * @throws whatever a task throws
 */
export async function sampleInterleaved(
  tasks: readonly Task[],
  { rounds, warmups = 1, seed = 1, signal }: Sampling,
  targetsOf: (of: Lookup) => readonly Target[] = () => [],
): Promise<Sampled> {
  const taken = tasks.map((task) => ({ task, samples: [] as Sample[] }));
  const sampleRounds = (count: number, unmeasured: number): Promise<void> =>
    interleave(taken, { rounds: count, warmups: unmeasured, signal }, async (record, round) => {
      const { task, samples } = record;
      await task.prepare?.();
      globalThis.Bun?.gc(true);
      const { calls = 1 } = task;
      const { result, ...sample } = await measurePeak(() => repeated(task, calls));
      await task.check?.(result);
      if (round < 0) return;
      const { seconds, cpuSeconds } = sample;
      samples.push({ ...sample, seconds: seconds / calls, cpuSeconds: cpuSeconds! / calls });
    });
  const evaluate = (): Sampled => {
    const random = seededRandom(seed);
    const measurements = taken.map(({ task, samples }) => measurementOf(task, samples, random));
    return { measurements, targets: targetsOf(lookup(measurements)) };
  };
  return untilSettled({ rounds, warmups }, sampleRounds, evaluate);
}

/** Runs a task a number of times and returns the last result. Waits only for promises. */
async function repeated(task: Task, calls: number): Promise<unknown> {
  for (let i = 1; i < calls; i++) {
    const result = task.run();
    if (result instanceof Promise) await result;
  }
  return task.run();
}
