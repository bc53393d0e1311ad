import {
  type Attempt,
  type Counter,
  type Pair,
  type SkippedTask,
  type TaskComparison,
  isWorse,
} from "./comparison.ts";
import { compareCounts, isSettled, judge, verdictsOf } from "./decide.ts";
import type { Counts } from "./round/job.ts";
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

/** A revision lacks an export or method that the task calls. */
export interface Lacking {
  readonly lacks: string;
}

/** Measures tasks in processes. */
export interface Measurer {
  pair(task: TaskInfo): Promise<Pair>;
  count(task: TaskInfo, side: "base" | "head"): Promise<Counts | Lacking>;
}

export interface GateResult {
  readonly tasks: readonly TaskComparison[];
  readonly skipped: readonly SkippedTask[];
}

/**
 * Compares the tasks one after another. A worse task is measured again after all others, when a
 * temporary disturbance of the machine is likely over, and fails only if it is worse again.
 *
 * @param log prints a line per task
 * @throws Error if the head lacks something that the base has, or an operation fails
 */
export async function compareTasks(
  tasks: readonly TaskInfo[],
  plan: Plan,
  measurer: Measurer,
  log: (line: string) => void,
): Promise<GateResult> {
  const compared: TaskComparison[] = [];
  const skipped: SkippedTask[] = [];
  for (const task of tasks) {
    const { name, title } = task;
    const counters = await counted(task, measurer);
    if ("lacks" in counters) {
      log(`${name}: skipped, the base lacks ${counters.lacks}`);
      skipped.push({ task: name, reason: `the base lacks ${counters.lacks}` });
      continue;
    }
    const attempts = [await attempt(plan, () => measurer.pair(task))];
    compared.push(finished({ task: name, title, attempts, counters: [...counters] }));
    log(progress(compared.at(-1)!));
  }
  for (const [index, task] of compared.entries()) {
    if (!Object.values(task.verdicts).includes("worse")) continue;
    log(`${task.task}: measuring again`);
    const info = tasks.find(({ name }) => name === task.task)!;
    const second = await attempt(plan, () => measurer.pair(info));
    compared[index] = finished({ ...task, attempts: [...task.attempts, second] });
    log(progress(compared[index]));
  }
  return { tasks: compared, skipped };
}

/** Measures a task until its verdict is clear. */
async function attempt(plan: Plan, measure: () => Promise<Pair>): Promise<Attempt> {
  const pairs: Pair[] = [];
  for (let upTo = plan.pairs; ; upTo = Math.min(upTo + STEP, plan.maxPairs)) {
    while (pairs.length < upTo) pairs.push(await measure());
    const result = judge([...pairs], upTo >= plan.maxPairs);
    if (isSettled(result) || upTo >= plan.maxPairs) return result;
  }
}

/** Counts both sides. If a counter of the head is worse, counts again, because it may be due to a retry. */
async function counted(task: TaskInfo, measurer: Measurer): Promise<readonly Counter[] | Lacking> {
  const once = async (): Promise<readonly Counter[] | Lacking> => {
    const [base, head] = await Promise.all([
      measurer.count(task, "base"),
      measurer.count(task, "head"),
    ]);
    if ("lacks" in base) return base;
    if ("lacks" in head) {
      throw new Error(`the head lacks ${head.lacks}, which ${task.name} needs and the base has`);
    }
    return compareCounts(base, head);
  };
  const first = await once();
  return "lacks" in first || !first.some(isWorse) ? first : once();
}

function finished(task: Omit<TaskComparison, "passed" | "verdicts">): TaskComparison {
  const verdicts = verdictsOf(task.attempts);
  const passed = !Object.values(verdicts).includes("worse") && !task.counters.some(isWorse);
  return { ...task, verdicts, passed };
}

function progress({ task, attempts, verdicts }: TaskComparison): string {
  const { cpu, elapsed, memory } = verdicts;
  return `${task}: CPU ${cpu}, elapsed ${elapsed}, memory ${memory} after ${attempts.at(-1)!.pairs.length} pairs`;
}
