import { COMPARISON_SCHEMA, type Comparison, type SkippedTask } from "./comparison.ts";
import { TASKS, type TaskInfo } from "./round/task-list.ts";
import type { ObjectStoreAccess } from "../suite.ts";
import type { Plan } from "./attempt.ts";
import { Usage } from "../command/usage.ts";
import { checkOut } from "./worktrees.ts";
import { compareTasks } from "./gate.ts";
import { failuresOf } from "./words.ts";
import { thisMachine } from "../harness/machine.ts";
import { processMeasurer } from "./processes.ts";
import { seededRandom } from "../statistics/random.ts";

export interface CompareOptions extends Plan {
  /** What git calls a revision: a branch, a tag, a commit. */
  readonly base: string;
  readonly head: string;
  /** A folder within the repository. */
  readonly repository: string;
  /** By default all. */
  readonly tasks?: readonly string[] | undefined;
  /** For the tasks that need an object store, below its prefix; without it they are skipped. */
  readonly store?: ObjectStoreAccess | undefined;
  /** An integer of 32 bits. */
  readonly seed: number;
  /** Leaves the worktrees where they are. */
  readonly keep: boolean;
  readonly signal: AbortSignal;
  log(line: string): void;
}

/**
 * Compares two revisions of a repository: checks both out, measures each by fresh processes, and
 * removes what it made, also where it is broken off.
 *
 * @throws Usage where a revision or a task is unknown, or nothing can be compared; Error in plain English where packages do not
 *   install, or a measured operation fails; the signal's reason
 */
export async function compareRevisions(options: CompareOptions): Promise<Comparison> {
  const { base, head, repository, store, seed, keep, signal, log } = options;
  const { rounds, maxRounds, warmups } = options;
  const start = performance.now();
  const chosen = chosenTasks(options.tasks);
  const runnable = chosen.filter(({ place }) => place !== "store" || store !== undefined);
  const withoutStore = chosen
    .filter((task) => !runnable.includes(task))
    .map(({ name }): SkippedTask => ({ task: name, reason: "no object store was given" }));

  await using worktrees = await checkOut({ repository, base, head, keep, signal, log });
  const random = seededRandom(seed);
  const measurer = processMeasurer(worktrees, store, signal);
  const plan = { rounds, maxRounds: Math.max(rounds, maxRounds), warmups };
  const { tasks, skipped } = await compareTasks(runnable, plan, random, measurer, log);
  const left = [...withoutStore, ...skipped];
  // A gate that is green because it looked at nothing would be worse than none.
  if (tasks.length === 0) {
    throw new Usage(
      `nothing could be compared: ${left.map(({ task, reason }) => `${task}, ${reason}`).join("; ")}`,
    );
  }
  const revision = ({ name, commit }: (typeof worktrees)["base"]) => ({ name, commit });
  return {
    schema: COMPARISON_SCHEMA,
    createdAt: new Date().toISOString(),
    seconds: (performance.now() - start) / 1000,
    machine: await thisMachine(),
    base: revision(worktrees.base),
    head: revision(worktrees.head),
    seed,
    tasks,
    skipped: left,
    failures: failuresOf(tasks),
  };
}

/** @throws Usage where there is no such task */
function chosenTasks(names: readonly string[] | undefined): readonly TaskInfo[] {
  if (names === undefined) return TASKS;
  const unknown = names.find((name) => !TASKS.some((task) => task.name === name));
  if (unknown !== undefined) {
    const known = TASKS.map(({ name }) => name).join(", ");
    throw new Usage(`there is no task ${unknown}: there are ${known}`);
  }
  return TASKS.filter(({ name }) => names.includes(name));
}
