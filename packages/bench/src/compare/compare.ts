import { join } from "node:path";
import { reasonsIn } from "../baseline/baseline.ts";
import { Usage } from "../command/usage.ts";
import type { Findings } from "../harness/results.ts";
import { formatChange } from "../report/units.ts";
import { seededRandom } from "../statistics/random.ts";
import type { Suite, SuiteContext } from "../suite.ts";
import type { Checkouts } from "./checkouts.ts";
import { QUANTITIES, accepted } from "./decide.ts";
import { type GateResult, type Plan, compareTasks } from "./gate.ts";
import { processMeasurer } from "./processes.ts";
import { TASKS, type TaskInfo } from "./round/task-list.ts";

/** The suite of one comparison, whose targets are changes from base to head. */
export function comparisonSuite(
  checkouts: Checkouts,
  tasks: readonly TaskInfo[],
  plan: Plan,
  needsObjectStore: boolean,
): Suite {
  const { base, head } = checkouts;
  const about = { name: "compare", title: `${head.name} against ${base.name}` };
  const run = async ({ seed, store, signal, log, env }: SuiteContext): Promise<Findings> => {
    const place = { folder: checkouts.folder, store, signal };
    const measurer = processMeasurer(checkouts, place, seededRandom(seed));
    const runnable = tasks.filter(({ backendKind }) => backendKind !== "store" || store);
    const without = tasks.filter((task) => !runnable.includes(task)).map(({ name }) => name);
    const missing = without.length > 0 && `skipped without an object store: ${without.join(", ")}`;
    // Nobody reads the notes of a green check.
    if (missing && env["CI"]) throw new Error(missing);
    const done = await compareTasks(runnable, plan, measurer, log);
    const reasons = await newReasons(checkouts);
    const reasonFor = ({ name }: TaskInfo) =>
      reasons.find((reason) => reason.split(/[\s,:;]+/u).includes(name));
    const compared = done.compared.map((one) =>
      reasonFor(one.task) === undefined
        ? one
        : { ...one, quantities: accepted(one.quantities), changes: accepted(one.changes) },
    );
    const meant = tasks.flatMap((task) => {
      const reason = reasonFor(task);
      return reason === undefined
        ? []
        : [`${task.name} may get worse, because the head's baseline has a new reason: ${reason}`];
    });
    const skipped = [...done.skipped, ...(missing ? [missing] : [])];
    // A gate that passes because it measured nothing would be worse than none.
    if (compared.length === 0) throw new Error(`nothing could be compared; ${skipped.join("; ")}`);
    return {
      targets: compared.flatMap(({ quantities, changes }) => [...quantities, ...changes]),
      counters: compared.flatMap(({ counters }) => counters),
      notes: [...meant, ...skipped, ...notesOn(checkouts, compared)],
      comparison: {
        base: base.commit,
        head: head.commit,
        tasks: compared.map(({ task, attempts }) => ({ task: task.name, attempts })),
      },
    };
  };
  return { ...about, needsObjectStore, slow: false, run };
}

/**
 * The reasons in the head's committed baseline that the base's lacks; none if the base has no reasons,
 * because old ones would look new. The tasks that they name may get worse: what costs something on purpose
 * is said in a line that reviewers see.
 */
export async function newReasons({ folder }: Pick<Checkouts, "folder">): Promise<string[]> {
  const [base, head] = await Promise.all(
    ["base", "head"].map((side) => reasonsIn(join(folder, side, "benchmarks/baseline.json"))),
  );
  return base!.length === 0 ? [] : head!.filter((reason) => !base!.includes(reason));
}

function notesOn({ base, head }: Checkouts, compared: GateResult["compared"]): string[] {
  const revisions = [head, base].map(({ name, commit }) => `${name} (${commit.slice(0, 12)})`);
  const limits = QUANTITIES.map(({ name, mustFind }) => `${formatChange(mustFind)} of ${name}`);
  const widest = QUANTITIES.map(({ name, widest: most }) => `${most * 100} % of ${name}`);
  const pairs = compared.map(({ task, attempts }) => {
    return `${task.name} ${attempts.map((attempt) => attempt.pairs.length).join(" + ")}`;
  });
  return [
    `Changes from base to head: ${revisions.join(" against ")}, over pairs of processes whose batches alternate, with 99 % intervals. Missed: the whole interval is above the bound, in two measurements. Met: it ends below ${limits.join(", ")}. After the last pair, an interval whose half width is at most that difference is decided by its middle: missed if it is nearer to the difference than to none, otherwise met. A half width above ${widest.join(", ")} is never met, and missed only if the whole interval is above that. Everything else is inconclusive, as is what was unclear when another miss ended the measurement of its task.`,
    "Counters are those of the head, per operation; one that changed is a target. None may grow, and threads not become fewer.",
    `Pairs of processes: ${pairs.join(", ")}`,
  ];
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
