import { allEnded } from "../harness/interleave.ts";
import type { Comparison, Counter, ProcessPair, Target } from "../report/report.ts";
import { formatChange } from "../report/units.ts";
import { QUANTITIES, changedCounters, confirmed, countersOf, isSettled, judge } from "./decide.ts";
import type { Counts, Lacking } from "./round/job.ts";
import type { TaskInfo } from "./round/task-list.ts";

/** Numbers of pairs of processes for one measurement of a task. */
export interface Plan {
  /** Before the first verdict. */
  readonly pairs: number;
  /** At most, if the verdict is inconclusive. */
  readonly maxPairs: number;
}

/** Pairs between two verdicts. */
const STEP = 3;

export interface Measurer {
  pair(task: TaskInfo): Promise<ProcessPair>;
  count(task: TaskInfo, side: keyof ProcessPair): Promise<Counts | Lacking>;
}

interface Compared {
  readonly task: TaskInfo;
  readonly attempts: Comparison["tasks"][number]["attempts"];
  /** A target for each, by the last attempt. */
  readonly quantities: readonly Target[];
  /** A target for each counter that changed. */
  readonly changes: readonly Target[];
  /** Of the head. */
  readonly counters: readonly Counter[];
}

export interface GateResult {
  readonly compared: readonly Compared[];
  /** Sentences. */
  readonly skipped: readonly string[];
}

/**
 * Compares the tasks one after another. A task that misses a target is measured again after all others,
 * when a temporary disturbance of the machine is likely over, and fails only if it misses it again.
 *
 * @throws Error if the head lacks something that the base has, or an operation fails
 */
export async function compareTasks(
  tasks: readonly TaskInfo[],
  plan: Plan,
  measurer: Measurer,
  log: (line: string) => void,
): Promise<GateResult> {
  const compared: Compared[] = [];
  const skipped: string[] = [];
  for (const task of tasks) {
    const counted = await count(task, measurer);
    if ("lacks" in counted) {
      skipped.push(`${task.name} was skipped: the base lacks ${counted.lacks}`);
      log(skipped.at(-1)!);
      continue;
    }
    const { pairs, targets } = await measure(task, plan, measurer);
    compared.push({ task, attempts: [{ pairs }], quantities: targets, ...counted });
    log(`${task.name}: ${progress(targets, pairs, counted.changes)}`);
  }
  for (const [index, first] of compared.entries()) {
    const { task, attempts, quantities } = first;
    if (quantities.every(({ verdict }) => verdict !== "missed")) continue;
    log(`${task.name}: measuring again`);
    const { pairs, targets } = await measure(task, plan, measurer, quantities);
    const both = confirmed(quantities, targets);
    compared[index] = { ...first, attempts: [...attempts, { pairs }], quantities: both };
    log(`${task.name}: ${progress(both, pairs)}`);
  }
  return { compared, skipped };
}

/** Measures a task until its verdicts are clear, or it is worse. */
async function measure(task: TaskInfo, plan: Plan, measurer: Measurer, first?: readonly Target[]) {
  const pairs: ProcessPair[] = [];
  for (let upTo = plan.pairs; ; upTo = Math.min(upTo + STEP, plan.maxPairs)) {
    while (pairs.length < upTo) pairs.push(await measurer.pair(task));
    const last = upTo >= plan.maxPairs;
    const targets = judge(task.name, pairs, last);
    if (last || isSettled(targets, first)) return { pairs, targets };
  }
}

/** Counts both sides. If a counter of the head is worse, counts again, because it may be due to a retry. */
async function count(
  task: TaskInfo,
  measurer: Measurer,
): Promise<Pick<Compared, "counters" | "changes"> | Lacking> {
  const once = async () => {
    // The caller removes the folder of both.
    const [base, head] = await allEnded([
      measurer.count(task, "base"),
      measurer.count(task, "head"),
    ]);
    if ("lacks" in base) return base;
    if ("lacks" in head) {
      throw new Error(`the head lacks ${head.lacks}, which ${task.name} needs and the base has`);
    }
    const counters = countersOf(task.name, head);
    return { counters, changes: changedCounters(countersOf(task.name, base), counters) };
  };
  const first = await once();
  const worse = "changes" in first && first.changes.some(({ verdict }) => verdict === "missed");
  return worse ? once() : first;
}

/** All that is known if the comparison is cut off before it writes its report. */
function progress(
  targets: readonly Target[],
  pairs: readonly unknown[],
  changes: readonly Target[] = [],
): string {
  const verdicts = targets.map(({ verdict, value }, i) => {
    const change = verdict === "missed" ? ` (${formatChange(value)})` : "";
    return `${QUANTITIES[i]!.name} ${verdict}${change}`;
  });
  const counters = changes.map(({ name, value, most }) => `; ${name} ${value}, not ${most}`);
  return `${verdicts.join(", ")} after ${pairs.length} pairs${counters.join("")}`;
}
