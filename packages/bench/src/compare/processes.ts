import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ObjectStoreAccess } from "../suite.ts";
import type { Measurer } from "./gate.ts";
import { output } from "./program.ts";
import type { Job, Outcome } from "./round/job.ts";
import type { TaskInfo } from "./round/task-list.ts";
import type { CheckedOut, Worktrees } from "./worktrees.ts";

/** Enough to separate the cost per operation from the cost that occurs once. */
const COUNTED_OPERATIONS = 4;

/**
 * Measures in fresh processes in the worktrees, one at a time.
 *
 * @throws Error with the revision, the task and the output, if a process fails
 */
export function processMeasurer(
  { base, head, folder }: Worktrees,
  store: ObjectStoreAccess | undefined,
  signal: AbortSignal,
): Measurer {
  let processes = 0;
  const run = async (
    task: TaskInfo,
    side: CheckedOut,
    job: Pick<Job, "mode" | "operations">,
  ): Promise<Outcome> => {
    processes += 1;
    // Of fixed length, because signing a request hashes the object name, and hashed bytes are counted.
    const number = String(processes).padStart(6, "0");
    const own = join(folder, number);
    await mkdir(own);
    try {
      const { name, backendKind } = task;
      const objects = store && { ...store, prefix: `${store.prefix}${number}/` };
      const given: Job = {
        ...job,
        task: name,
        backendKind,
        folder: own,
        ...(backendKind === "store" && { store: objects }),
      };
      const { roundScript } = side;
      const stdout = await output({
        argv: [process.execPath, roundScript],
        cwd: dirname(roundScript),
        // Not as an argument: other users could read credentials there.
        input: JSON.stringify(given),
        signal,
      });
      return JSON.parse(stdout) as Outcome;
    } catch (error) {
      signal.throwIfAborted();
      const message = error instanceof Error ? error.message : String(error);
      throw new Error(`${task.name} failed at ${side.name}: ${message}`, { cause: error });
    } finally {
      await rm(own, { recursive: true, force: true });
    }
  };

  return {
    async time(task, side) {
      const { operations } = task;
      const outcome = await run(task, side === "head" ? head : base, { mode: "time", operations });
      if (outcome.kind !== "time")
        throw new Error(`${task.name} returned no time: ${outcome.kind}`);
      return task.bound === "cpu" ? outcome.cpuSeconds : outcome.seconds;
    },
    async count(task, side) {
      const job = { mode: "count", operations: COUNTED_OPERATIONS } as const;
      const outcome = await run(task, side === "head" ? head : base, job);
      if (outcome.kind === "missing") return { lacks: outcome.what };
      if (outcome.kind !== "count") throw new Error(`${task.name} counted nothing`);
      return outcome.counts;
    },
  };
}
