import { reasonOf } from "./command/usage.ts";
import { type Findings, together } from "./harness/results.ts";
import type { SuiteResult, Target } from "./report/report.ts";
import { formatBound, formatMeasured } from "./report/units.ts";
import type { Suite, SuiteContext } from "./suite.ts";

/** Why a suite has no results. */
export type Reason = Readonly<Required<Pick<SuiteResult, "status" | "reason">>>;

/**
 * Runs one suite.
 *
 * @param given by default the settings of `idk bench NAME`, and no object store
 * @param withoutStore the outcome if the suite needs an object store and none is given
 * @returns a result with status "completed", even if targets were missed; "skipped", with the reason, if
 *   the suite needs something that is not here; "failed", with the reason, if it throws
 */
export async function runSuite(
  suite: Suite,
  given: Partial<SuiteContext> = {},
  withoutStore: Reason = { status: "skipped", reason: "no object store" },
): Promise<SuiteResult> {
  const context: SuiteContext = {
    quick: false,
    env: process.env,
    seed: 1,
    signal: new AbortController().signal,
    log: () => {},
    ...given,
  };
  const start = performance.now();
  const end = (outcome: Pick<SuiteResult, "status" | "reason">, found: Findings): SuiteResult => {
    const seconds = outcome.status === "skipped" ? 0 : (performance.now() - start) / 1000;
    const { comparison } = found;
    const about = { suite: suite.name, title: suite.title, seconds };
    return { ...about, ...outcome, ...together([found]), ...(comparison && { comparison }) };
  };
  if (suite.needsObjectStore && context.store === undefined) return end(withoutStore, {});
  const reason = suite.missing?.(context.env);
  if (reason !== undefined) return end({ status: "skipped", reason }, {});
  try {
    const result = end({ status: "completed" }, await suite.run(context));
    checkNames(result);
    return result;
  } catch (error) {
    if (error instanceof Error && !context.signal.aborted)
      context.log(error.stack ?? error.message);
    return end({ status: "failed", reason: reasonOf(error) }, {});
  }
}

/** Whether a second measurement may contradict it: a missed target of time. A count that is wrong once is wrong. */
export function isDoubtful({ verdict, kind, unit }: Target): boolean {
  return verdict === "missed" && (kind !== "exact" || unit === "exponent");
}

/**
 * The result of a suite that was measured a second time, because something else may have used the memory or
 * the disk of the machine for minutes. If the first measurement missed a time, the second decides. A count
 * that either missed is missed. All else is that of the first. Notes say what each measurement found.
 */
export function confirmed(first: SuiteResult, second: SuiteResult): SuiteResult {
  if (second.status !== "completed") return second;
  const notes: string[] = [];
  const targets = first.targets.map((target): Target => {
    const again = second.targets.find(({ name }) => name === target.name);
    if (again === undefined) return target;
    const isCount = again.kind === "exact" && again.verdict === "missed" && !isDoubtful(again);
    if (!isDoubtful(target) && !isCount) return target;
    const [then, now] = [target, again].map((one) => `${formatMeasured(one)}, ${one.verdict}`);
    notes.push(`${target.name}: measured twice, ${then}; then ${now}; ${formatBound(target)}`);
    return again;
  });
  const seconds = first.seconds + second.seconds;
  return { ...first, seconds, targets, notes: [...first.notes, ...notes] };
}

/** Baselines and charts find measurements, targets and counters by name. */
function checkNames({ measurements, targets, counters }: SuiteResult): void {
  for (const named of [measurements, [...targets, ...counters]]) {
    const names = named.map(({ name }) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw new Error(`two results have the name "${twice}"`);
  }
}
