/**
 * What operations cost in numbers that the same code always reproduces: requests on the wire, counted by
 * a proxy in front of the store, bytes sent, received, hashed and sealed, bytes stored beyond the content,
 * threads, and peak memory. The committed baseline has the same numbers, and none may grow.
 */
import { countersOf } from "../../compare/decide.ts";
import { inPlace } from "../../compare/processes.ts";
import { COUNTER_WORDS } from "../../compare/round/job.ts";
import { TASKS, type TaskInfo } from "../../compare/round/task-list.ts";
import { inLanes } from "../../harness/interleave.ts";
import type { Findings } from "../../harness/results.ts";
import { exactTarget } from "../../harness/targets.ts";
import { withScratch } from "../../object-store/scratch.ts";
import type { Counter } from "../../report/report.ts";
import { median } from "../../statistics/describe.ts";
import type { SuiteContext } from "../../suite.ts";

/** Peaks of the same code differ by some percent from process to process. */
const PEAK_TOLERANCE = 0.1;
const PEAK_PROCESSES = 3;
const OVER_STORE = /^(?:put-store|get-store|stream-up|stream-down)-64m$/u;

export async function counters({ store, quick, signal, log }: SuiteContext): Promise<Findings> {
  const tasks = quick ? TASKS.slice(-2) : TASKS;
  const byTask = new Map(tasks.map((task): [TaskInfo, Counter[]] => [task, []]));
  await withScratch(store, "counters", async (scratch) => {
    // Two at once: counts do not depend on time, nor peaks by more than their tolerance. Each has a folder
    // that only it clears.
    const lanes = ["first", "other"].map((folder) => inPlace(scratch.at(folder), signal));
    await inLanes(tasks, lanes.length, async (task, lane) => {
      log(task.name);
      const [library, own] = [lanes[lane]!, byTask.get(task)!];
      const counted = countersOf(task.name, await library.count(task));
      own.push(...counted.filter((counter) => !variesWithNames(task, counter)));
      if (!OVER_STORE.test(task.name)) return;
      const peaks: number[] = [];
      while (peaks.length < (quick ? 1 : PEAK_PROCESSES)) peaks.push(await library.peak(task));
      const peak = {
        name: `${task.name}: peak memory`,
        value: median(peaks),
        unit: "bytes",
      } as const;
      own.push({ ...peak, tolerance: PEAK_TOLERANCE });
    });
  });
  const found = [...byTask.values()].flat();
  // Shorter contents are faster without threads.
  const threads = found.filter(({ name }) => name.endsWith(`64m: ${COUNTER_WORDS.threads}`));
  return {
    counters: found,
    targets: threads.map(({ name, value }) =>
      exactTarget(`${name} are on`, value, "count", { least: 1 }),
    ),
    notes: [
      "Counted per operation, once the store is open. Requests and bytes are counted by a proxy in front of the store, or as calls of a backend that is not remote. Hashing and sealing is counted without threads, because only one thread can be watched.",
      "Peaks are those of a process during three batches, as the median of three processes.",
    ],
  };
}

/** The name of the bucket is hashed to sign requests, and listings contain it. */
function variesWithNames({ name, backendKind }: TaskInfo, counter: Counter): boolean {
  const varies = [`${name}: ${COUNTER_WORDS.bytesHashed}`, "maintain-store: bytes received"];
  return backendKind === "store" && varies.includes(counter.name);
}
