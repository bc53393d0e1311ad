import { randomInt } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { Usage } from "../command/usage.ts";
import { thisMachine } from "../harness/machine.ts";
import { withRoundTrip } from "../object-store/latency.ts";
import { seededRandom } from "../statistics/random.ts";
import type { ObjectStoreAccess } from "../suite.ts";
import { COMPARISON_SCHEMA, type Comparison, comparisonSchema } from "./comparison.ts";
import { compareTasks } from "./gate.ts";
import { processMeasurer } from "./processes.ts";
import { comparisonLines, comparisonMarkdown, problemsOf } from "./render.ts";
import { TASKS, type TaskInfo } from "./round/task-list.ts";
import { checkOut } from "./worktrees.ts";

/** Settings of `idk bench compare BASE HEAD`. */
export interface CompareSettings {
  /** A git revision: a branch, a tag or a commit. */
  readonly base: string;
  readonly head: string;
  /** A folder in the repository, by default the working directory. */
  readonly repository?: string | undefined;
  /** Pairs of processes for each task before the first verdict, by default 6. */
  readonly pairs?: number | undefined;
  /** Maximum number of pairs if the result is inconclusive, by default 24. */
  readonly maxPairs?: number | undefined;
  /** Fails if the CPU time of a task is inconclusive. */
  readonly strict?: boolean | undefined;
  /** Makes the round trip to the store longer, in milliseconds, and chooses the tasks that use it. */
  readonly rtt?: number | undefined;
  /** Names of tasks, by default all that can run. */
  readonly tasks?: readonly string[] | undefined;
  /** The object store for tasks that need one; without it they are reported as skipped. */
  readonly store?: ObjectStoreAccess | undefined;
  /** A 32-bit integer, by default random; the result contains it. */
  readonly seed?: number | undefined;
  /** Keeps the worktrees and prints where they are. */
  readonly keep?: boolean | undefined;
  /** Files to write; "-" prints to standard output instead of the table. */
  readonly json?: string | undefined;
  readonly html?: string | undefined;
  readonly markdown?: string | undefined;
}

export interface CompareContext {
  readonly signal: AbortSignal;
  /** Prints a line of the result. */
  print(line: string): void;
  /** Prints a line about progress. */
  log(line: string): void;
}

/**
 * Compares two revisions of a repository, writes the requested files and prints a table. The gate failed
 * if the result has `failures`.
 *
 * @throws Usage if a revision or a task is unknown or nothing can be compared; Error if packages do not
 *   install or a measured operation fails; the signal's reason
 */
export async function compareCommand(
  settings: CompareSettings,
  context: CompareContext,
): Promise<Comparison> {
  const { json, html, markdown } = settings;
  const comparison = await compareRevisions(settings, context);
  const write = async (file: string | undefined, text: () => string): Promise<void> => {
    if (file === "-") context.print(text().trimEnd());
    else if (file !== undefined) await writeFile(file, text());
  };
  await write(json, () => `${JSON.stringify(comparisonSchema.parse(comparison), undefined, 2)}\n`);
  await write(markdown, () => comparisonMarkdown(comparison));
  if (html !== undefined) {
    // Loaded late: only charts need these libraries.
    const { renderComparisonHtml } = await import("../report/html.ts");
    await write(html, () => renderComparisonHtml(comparison));
  }
  if (![json, html, markdown].includes("-")) {
    for (const line of comparisonLines(comparison)) context.print(line);
  }
  return comparison;
}

/** Checks out two revisions, measures them, and removes the worktrees, even if it is interrupted. */
async function compareRevisions(
  settings: CompareSettings,
  { signal, log }: Pick<CompareContext, "signal" | "log">,
): Promise<Comparison> {
  const {
    base,
    head,
    pairs = 6,
    maxPairs = 24,
    strict = false,
    rtt,
    store,
    keep = false,
  } = settings;
  const { repository = process.cwd(), seed = randomInt(2 ** 31) } = settings;
  const start = performance.now();
  const chosen = chooseTasks(settings.tasks, rtt);
  const runnable = chosen.filter(({ backendKind }) => backendKind !== "store" || store);
  const withoutStore = chosen.filter((task) => !runnable.includes(task));
  await using far = store && rtt ? await withRoundTrip(store.endpoint, rtt) : undefined;
  const used = store && far ? { ...store, endpoint: far.endpoint } : store;
  await using worktrees = await checkOut({ repository, base, head, keep, signal, log });
  const measurer = processMeasurer(worktrees, used, seededRandom(seed), signal);
  const plan = { pairs, maxPairs: Math.max(pairs, maxPairs) };
  const { tasks, ...compared } = await compareTasks(runnable, plan, measurer, log);
  const reason = "no object store was given";
  const skipped = [
    ...withoutStore.map(({ name }) => ({ task: name, reason })),
    ...compared.skipped,
  ];
  // A gate that passes because it measured nothing would be worse than none.
  if (tasks.length === 0) {
    const reasons = skipped.map(({ task, reason }) => `${task}, ${reason}`).join("; ");
    throw new Usage(`nothing could be compared: ${reasons}`);
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
    ...(rtt !== undefined && { rtt }),
    tasks,
    skipped,
    ...problemsOf(tasks, strict),
  };
}

/**
 * @param names by default all, or all that use the store if its round trip is made longer
 * @throws Usage if a task is unknown
 */
export function chooseTasks(names?: readonly string[], rtt?: number): readonly TaskInfo[] {
  if (names === undefined) {
    return TASKS.filter(({ backendKind }) => rtt === undefined || backendKind === "store");
  }
  const unknown = names.find((name) => !TASKS.some((task) => task.name === name));
  if (unknown !== undefined) {
    const known = TASKS.map(({ name }) => name).join(", ");
    throw new Usage(`there is no task "${unknown}"; there are ${known}`);
  }
  return TASKS.filter(({ name }) => names.includes(name));
}
