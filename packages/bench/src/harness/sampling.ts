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
  /** Unmeasured, before each run of it: what the run needs and does not pay for. */
  prepare?(): unknown;
  /** One operation. What it throws fails the benchmark. */
  run(): unknown;
  /** Unmeasured, after each run of it: throws where the run has not done what it should. */
  check?(): unknown;
  /** What has gone to the store so far, where requests and bytes are to be counted. */
  counts?(): Counts;
}

export interface SamplingOptions extends Rounds {
  /** Of the intervals; by default 1. */
  readonly seed?: number | undefined;
}

/**
 * Runs tasks in turn and measures each run: its seconds, the CPU time of the process, its peak
 * memory, and what it has sent and received. Garbage is collected before each, so that none pays for
 * another's.
 *
 * @throws whatever a task throws; Error where the runs of a task have not all made the same requests
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

/** As `measureWork`, with the peak of the work alone where the system can tell it. */
async function measurePeak<T>(work: () => Promise<T>): Promise<Sample & { result: T }> {
  const reset = resetPeakRss();
  const measured = await measureWork(work);
  // Where it cannot, what is resident afterwards is the least that it has been.
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
  throw new Error(`${name} does not always do the same: once ${one}, now ${other}`);
}

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
