import { Bench } from "tinybench";
import type { Measurement } from "../report/report.ts";
import { seededRandom } from "../statistics/random.ts";
import type { Counts } from "./counting.ts";
import { type Rounds, checkpoint, interleave } from "./interleave.ts";
import type { Sample } from "./measure.ts";
import { peakRss, resetPeakRss } from "./memory.ts";
import { measureWork } from "./processes.ts";
import { type Labels, measurementOf } from "./results.ts";

/** One thing to measure. */
export interface Task extends Labels {
  /** Unmeasured preparation before each run. */
  prepare?(): unknown;
  /** One operation. If it throws, the benchmark fails. */
  run(): unknown;
  /** Unmeasured check after each run; throws if the run did not do its work. */
  check?(): unknown;
  /** Totals so far, if requests and bytes are counted. */
  counts?(): Counts;
}

export interface SamplingOptions extends Rounds {
  /** Seed of the confidence intervals, by default 1. */
  readonly seed?: number | undefined;
}

/**
 * Interleaves tasks and measures each run: seconds, CPU time and peak memory of the process, and
 * requests and bytes. Garbage is collected before each run, so that no task pays for another.
 *
 * @throws whatever a task throws; Error if the runs of a task make different requests
 */
export async function sampleInterleaved(
  tasks: readonly Task[],
  { seed = 1, ...rounds }: SamplingOptions,
): Promise<Measurement[]> {
  const taken = tasks.map((task) => ({
    task,
    samples: [] as Sample[],
    counts: undefined as Counts | undefined,
  }));
  await interleave(taken, rounds, async (record, round) => {
    const { task, samples } = record;
    await task.prepare?.();
    globalThis.Bun?.gc(true);
    const before = task.counts?.();
    const { result: _, ...sample } = await measurePeak(async () => task.run());
    const counts = before && task.counts && since(before, task.counts());
    await task.check?.();
    if (round < 0) return;
    samples.push(sample);
    if (counts) record.counts = agreed(task.name, record.counts, counts);
  });
  const random = seededRandom(seed);
  return taken.map(({ task, samples, counts }) => measurementOf(task, samples, random, { counts }));
}

/** As `measureWork`, but with the peak of the work alone if the system can reset it. */
async function measurePeak<T>(work: () => Promise<T>): Promise<Sample & { result: T }> {
  const reset = resetPeakRss();
  const measured = await measureWork(work);
  // If it cannot, the memory afterwards is a lower bound of the peak.
  return { ...measured, peakRss: reset ? peakRss() : process.memoryUsage.rss() };
}

function since(before: Counts, after: Counts): Counts {
  return {
    requests: after.requests - before.requests,
    bytesSent: after.bytesSent - before.bytesSent,
    bytesReceived: after.bytesReceived - before.bytesReceived,
  };
}

function agreed(name: string, earlier: Counts | undefined, counts: Counts): Counts {
  const [one, other] = [JSON.stringify(earlier ?? counts), JSON.stringify(counts)];
  if (one === other) return counts;
  throw new Error(`${name} is not deterministic: counted ${one}, then ${other}`);
}

/** An operation too short to be timed once. */
export interface MicroTask extends Labels {
  /** One operation. If it throws, the benchmark fails. */
  run(): unknown;
}

export interface MicroOptions {
  /** Seconds per task, by default 0.25. It runs at least 64 times in any case. */
  readonly seconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Seed of the confidence intervals, by default 1. */
  readonly seed?: number | undefined;
}

/**
 * Runs each task repeatedly with tinybench, after warming up for a quarter of the time.
 *
 * @returns measurements with samples in ascending order, as tinybench returns them, and without CPU
 *   time and memory, which cannot be assigned to one operation
 * @throws whatever a task throws
 */
export async function sampleMicro(
  tasks: readonly MicroTask[],
  { seconds = 0.25, signal, seed = 1 }: MicroOptions = {},
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
    // After an abort, tinybench returns the samples so far and does not throw.
    signal?.throwIfAborted();
    if (result.state !== "completed")
      throw new Error(`${task.name} did not complete: ${result.state}`);
    const samples = result.latency.samples!.map((milliseconds) => ({
      seconds: milliseconds / 1000,
    }));
    measurements.push(measurementOf(task, samples, random));
  }
  return measurements;
}
