import { randomInt } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { Usage } from "../command/usage.ts";
import { thisMachine } from "../harness/machine.ts";
import { seededRandom } from "../statistics/random.ts";
import type { ObjectStoreAccess } from "../suite.ts";
import type { Plan } from "./attempt.ts";
import {
  COMPARISON_SCHEMA,
  type Comparison,
  type SkippedTask,
  comparisonSchema,
} from "./comparison.ts";
import { compareTasks } from "./gate.ts";
import { processMeasurer } from "./processes.ts";
import { comparisonLines, comparisonMarkdown, failuresOf } from "./render.ts";
import { TASKS, type TaskInfo } from "./round/task-list.ts";
import { checkOut } from "./worktrees.ts";

/** What `idk bench compare BASE HEAD` is told; what is not given has the default that stands here. */
export interface CompareSettings {
  /** What git calls a revision: a branch, a tag, a commit. */
  readonly base: string;
  readonly head: string;
  /** A folder within the repository; by default the working directory. */
  readonly repository?: string | undefined;
  /** 20 */
  readonly rounds?: number | undefined;
  /** 60: as far as rounds go on while they say nothing. */
  readonly maxRounds?: number | undefined;
  /** 2 */
  readonly warmups?: number | undefined;
  /** Names of tasks; by default all that can be run. */
  readonly tasks?: readonly string[] | undefined;
  /** For the tasks that need an object store; without it they are named as skipped. */
  readonly store?: ObjectStoreAccess | undefined;
  /** By default a random one, which the result names. */
  readonly seed?: number | undefined;
  /** Leaves the worktrees where they are, and says where. */
  readonly keep?: boolean | undefined;
  /** Files to write; "-" is printed instead of the table. */
  readonly json?: string | undefined;
  readonly html?: string | undefined;
  readonly markdown?: string | undefined;
}

export interface CompareContext {
  readonly signal: AbortSignal;
  /** A line of the result. */
  print(line: string): void;
  /** A line about what goes on. */
  log(line: string): void;
}

/**
 * Compares two revisions of the repository of the working directory, writes the files that were
 * asked for, and prints a table. The gate has failed where the result has `failures`: the exit code
 * is then 1.
 *
 * @throws Usage where a revision or a task is not known; Error in plain English where packages do not
 *   install, or a measured operation fails
 */
export async function compareCommand(
  settings: CompareSettings,
  { signal, print, log }: CompareContext,
): Promise<Comparison> {
  const { base, head, tasks, store, json, html, markdown } = settings;
  const comparison = await compareRevisions({
    base,
    head,
    repository: settings.repository ?? process.cwd(),
    tasks,
    store,
    rounds: settings.rounds ?? 20,
    maxRounds: settings.maxRounds ?? 60,
    warmups: settings.warmups ?? 2,
    seed: settings.seed ?? randomInt(2 ** 31),
    keep: settings.keep ?? false,
    signal,
    log,
  });
  const write = async (file: string, text: string): Promise<void> => {
    if (file === "-") print(text.trimEnd());
    else await writeFile(file, text);
  };
  if (json !== undefined) {
    const checked = comparisonSchema.parse(comparison);
    await write(json, `${JSON.stringify(checked, undefined, 2)}\n`);
  }
  if (markdown !== undefined) await write(markdown, comparisonMarkdown(comparison));
  if (html !== undefined) {
    // Charts take libraries that nothing else here needs.
    const { renderComparisonHtml } = await import("../report/html.ts");
    await write(html, renderComparisonHtml(comparison));
  }
  if ([json, html, markdown].includes("-")) return comparison;
  for (const line of comparisonLines(comparison)) print(line);
  return comparison;
}

interface CompareOptions extends Plan {
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
async function compareRevisions(options: CompareOptions): Promise<Comparison> {
  const { base, head, repository, store, seed, keep, signal, log } = options;
  const { rounds, maxRounds, warmups } = options;
  const start = performance.now();
  const chosen = chosenTasks(options.tasks);
  const runnable = chosen.filter(
    ({ backendKind }) => backendKind !== "store" || store !== undefined,
  );
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
