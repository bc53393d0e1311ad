import type { Random } from "../statistics/random.ts";
import { type Plan, type Side, attempt } from "./attempt.ts";
import type { Counter, SkippedTask, TaskComparison } from "./comparison.ts";
import { compareCounts } from "./decide.ts";
import type { Counts } from "./round/job.ts";
import type { TaskInfo } from "./round/task-list.ts";

/** A revision lacks an export or method that the task calls. */
export interface Lacking {
  readonly lacks: string;
}

/** Measures tasks in processes. */
export interface Measurer {
  /** Seconds per operation. */
  time(task: TaskInfo, side: Side): Promise<number>;
  count(task: TaskInfo, side: "base" | "head"): Promise<Counts | Lacking>;
}

export interface GateResult {
  readonly tasks: readonly TaskComparison[];
  readonly skipped: readonly SkippedTask[];
}

/**
 * Compares the tasks one after another. A slower task is measured again after all others, when a
 * temporary disturbance of the machine is likely over, and fails only if it is slower again.
 *
 * @param log prints a line per task
 * @throws Error if the head lacks something that the base has, or an operation fails
 */
export async function compareTasks(
  tasks: readonly TaskInfo[],
  plan: Plan,
  random: Random,
  measurer: Measurer,
  log: (line: string) => void,
): Promise<GateResult> {
  const compared: TaskComparison[] = [];
  const skipped: SkippedTask[] = [];
  const once = (task: TaskInfo) =>
    attempt(task.bound, plan, random, (side) => measurer.time(task, side));

  for (const task of tasks) {
    const counters = await counted(task, measurer);
    if ("lacks" in counters) {
      log(`${task.name}: skipped, the base lacks ${counters.lacks}`);
      skipped.push({ task: task.name, reason: `the base lacks ${counters.lacks}` });
      continue;
    }
    const first = await once(task);
    const { name, title, bound } = task;
    const { verdict } = first;
    compared.push(
      finished({ task: name, title, bound, attempts: [first], verdict, counters: [...counters] }),
    );
    log(`${name}: ${verdict} after ${first.rounds.length} rounds`);
  }
  for (const [index, task] of compared.entries()) {
    if (task.verdict !== "slower") continue;
    log(`${task.task}: measuring again`);
    const second = await once(tasks.find(({ name }) => name === task.task)!);
    const { verdict } = second;
    compared[index] = finished({ ...task, attempts: [...task.attempts, second], verdict });
    log(`${task.task}: ${verdict} after ${second.rounds.length} more rounds`);
  }
  return { tasks: compared, skipped };
}

/** Counts both sides. If a counter of the head is larger, counts again, because it may be due to a retry. */
async function counted(task: TaskInfo, measurer: Measurer): Promise<readonly Counter[] | Lacking> {
  const once = async (): Promise<readonly Counter[] | Lacking> => {
    const base = await measurer.count(task, "base");
    if ("lacks" in base) return base;
    const head = await measurer.count(task, "head");
    if ("lacks" in head) {
      throw new Error(`the head lacks ${head.lacks}, which ${task.name} needs and the base has`);
    }
    return compareCounts(base, head);
  };
  const first = await once();
  if ("lacks" in first || first.every(({ change }) => change !== "more")) return first;
  return once();
}

function finished(task: Omit<TaskComparison, "passed">): TaskComparison {
  const { verdict, counters } = task;
  const passed = verdict !== "slower" && counters.every(({ change }) => change !== "more");
  return { ...task, passed };
}
