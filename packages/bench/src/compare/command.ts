import { type Comparison, comparisonSchema } from "./comparison.ts";
import type { ObjectStoreAccess } from "../suite.ts";
import { comparisonLines } from "./table.ts";
import { comparisonMarkdown } from "./markdown.ts";
import { compareRevisions } from "./compare.ts";
import { randomInt } from "node:crypto";
import { writeFile } from "node:fs/promises";

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
