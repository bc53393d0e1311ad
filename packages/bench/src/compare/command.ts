import type { Comparison } from "./comparison.ts";
import type { ObjectStoreAccess } from "../suite.ts";

/** What `idk bench compare BASE HEAD` is told; what is not given has the default that stands here. */
export interface CompareSettings {
  /** What git calls a revision: a branch, a tag, a commit. */
  readonly base: string;
  readonly head: string;
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
  /** Files to write. */
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
 * Compares two revisions of this repository, writes the files that were asked for, and prints a
 * table. The gate has failed where the result has `failures`: the exit code is then 1.
 *
 * @throws Error in plain English where a revision is not known, its packages do not install, or a
 *   measured operation fails
 */
export async function compareCommand(
  settings: CompareSettings,
  context: CompareContext,
): Promise<Comparison> {
  context.log(`comparing ${settings.base} with ${settings.head}`);
  throw new Error("not there yet");
}
