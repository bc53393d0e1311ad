/**
 * What operations cost in numbers that the same code always reproduces: requests on the wire, counted by
 * a proxy in front of the store, bytes sent, received, hashed and sealed, bytes stored beyond the content,
 * and peak memory. They must be those of the committed baseline. Threads must be those of this machine.
 */
import { availableParallelism } from "node:os";
import { countersOf } from "../../compare/decide.ts";
import { inPlace } from "../../compare/processes.ts";
import { COUNTER_WORDS, type Counts } from "../../compare/round/job.ts";
import { TASKS, type TaskInfo } from "../../compare/round/task-list.ts";
import { inLanes } from "../../harness/interleave.ts";
import { type Findings, together } from "../../harness/results.ts";
import { exactTarget } from "../../harness/targets.ts";
import { withScratch } from "../../object-store/scratch.ts";
import type { Counter, Target } from "../../report/report.ts";
import type { SuiteContext } from "../../suite.ts";

/**
 * In a process that happens to collect its garbage late, the peak is up to a quarter higher. So the lowest
 * of five counts: in four runs it was within 9 % of its median, and it rises if all of them need more.
 */
const PEAK_PROCESSES = 5;
const PEAK_TOLERANCE = 0.1;
/** Requests are signed with a hash of their host and path, whose lengths differ from store to store. */
const SIGNED_TOLERANCE = 0.01;
const OVER_STORE = /^(?:put-store|get-store|stream-up|stream-down)-64m$/u;

export async function counters({ store, quick, signal, log }: SuiteContext): Promise<Findings> {
  const tasks = quick ? TASKS.slice(-2) : TASKS;
  const byTask = new Map(tasks.map((task): [TaskInfo, Findings] => [task, {}]));
  await withScratch(store, "counters", async (scratch) => {
    // Two at once: counts do not depend on time, nor peaks by more than their tolerance. Each has a folder
    // that only it clears.
    const lanes = ["first", "other"].map((folder) => inPlace(scratch.at(folder), signal));
    await inLanes(tasks, lanes.length, async (task, lane) => {
      log(task.name);
      const library = lanes[lane]!;
      const found = findingsOf(task, await library.count(task), availableParallelism());
      byTask.set(task, found);
      if (!OVER_STORE.test(task.name)) return;
      const peaks: number[] = [];
      while (peaks.length < (quick ? 1 : PEAK_PROCESSES)) peaks.push(await library.peak(task));
      const [name, value] = [`${task.name}: peak memory`, Math.min(...peaks)];
      found.counters.push({ name, value, unit: "bytes", tolerance: PEAK_TOLERANCE, peak: true });
    });
  });
  return {
    ...together([...byTask.values()]),
    notes: [
      "Counted per operation, once the store is open. Requests and bytes are counted by a proxy in front of the store, or as calls of a backend that is not remote. Hashing and sealing is counted without threads, because only one thread can be watched.",
      "Peaks are those of a process that runs three batches, from its start, as the lowest of five processes: in some, garbage is collected late.",
    ],
  };
}

/** @param cores of this machine: by default, a store has a thread for each, and at most 8 */
export function findingsOf(
  { name: task, backendKind }: TaskInfo,
  { threads, ...counts }: Counts,
  cores: number,
): { readonly counters: Counter[]; readonly targets: readonly Target[] } {
  const counters: Counter[] = [];
  for (const counter of countersOf(task, counts)) {
    // Listings contain the name of the bucket.
    if (counter.name === "maintain-store: bytes received") continue;
    const signed = backendKind === "store" && counter.name.endsWith(COUNTER_WORDS.bytesHashed);
    counters.push(signed ? { ...counter, tolerance: SIGNED_TOLERANCE } : counter);
  }
  // Shorter contents are faster without threads.
  const expected = task.endsWith("-64m") && cores > 1 ? Math.min(cores, 8) : 0;
  const bound = { least: expected, most: expected };
  const name = `${task}: ${COUNTER_WORDS.threads}`;
  const targets = threads === undefined ? [] : [exactTarget(name, threads, "count", bound)];
  return { counters, targets };
}
