import { type Labels, measurementOf } from "./results.ts";
import { Bench } from "tinybench";
import type { Measurement } from "../report/report.ts";
import { checkpoint } from "./checkpoint.ts";
import { seededRandom } from "../statistics/random.ts";

/** Something too short to be timed by itself but once. */
export interface MicroTask extends Labels {
  /** One operation. What it throws fails the benchmark. */
  run(): unknown;
}

export interface MicroOptions {
  /** For each task; by default half a second. It is run 64 times in any case. */
  readonly seconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Of the intervals; by default 1. */
  readonly seed?: number | undefined;
}

/**
 * Runs each task again and again for its time, by tinybench, after it was warmed up for a quarter of
 * that.
 *
 * @returns with samples in ascending order, as the library keeps them; without CPU time and memory, which are the process's and not an operation's
 * @throws whatever a task throws
 */
export async function sampleMicro(
  tasks: readonly MicroTask[],
  { seconds = 0.5, signal, seed = 1 }: MicroOptions = {},
): Promise<Measurement[]> {
  const random = seededRandom(seed);
  const measurements: Measurement[] = [];
  for (const task of tasks) {
    await checkpoint(signal);
    const bench = new Bench({
      time: seconds * 1000,
      warmupTime: seconds * 250,
      retainSamples: true,
      throws: true,
      ...(signal && { signal }),
    });
    await bench.add(task.name, () => task.run()).run();
    const { result } = bench.tasks[0]!;
    // An abort ends it early, without a failure and with what was sampled so far.
    signal?.throwIfAborted();
    if (result.state !== "completed") throw new Error(`${task.name} was not run: ${result.state}`);
    const samples = result.latency.samples!.map((milliseconds) => ({
      seconds: milliseconds / 1000,
    }));
    measurements.push(measurementOf(task, samples, random));
  }
  return measurements;
}
