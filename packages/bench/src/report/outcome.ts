/** What decides whether a run passes, in one place for the exit code, the tables and the annotations. */
import type { Report, SuiteResult, Target, Verdict } from "./report.ts";
import { counted, formatBound, formatInterval, formatValue } from "./units.ts";

export type SuiteTarget = Target & { readonly suite: string };

const ORDER: readonly Verdict[] = ["missed", "inconclusive", "met"];

/** The targets of all suites: missed ones first, then inconclusive ones. */
export function targetsOf(suites: readonly SuiteResult[]): SuiteTarget[] {
  const rank = ({ verdict }: Target): number => ORDER.indexOf(verdict);
  return suites
    .flatMap(({ suite, targets }) => targets.map((target) => ({ ...target, suite })))
    .toSorted((a, b) => rank(a) - rank(b));
}

/** A reason why a run failed, or should be looked at. */
export interface Problem {
  readonly level: "failure" | "warning";
  /** Absent if it concerns the whole run. */
  readonly suite?: string | undefined;
  /** The name of the target, if it concerns one. */
  readonly target?: Target | undefined;
  /** One sentence. */
  readonly message: string;
}

export interface Strictness {
  /** An inconclusive target of CPU time is a failure. */
  readonly strict: boolean;
  /** A skipped suite is a failure, because nobody reads a CI log for skipped suites. */
  readonly ci: boolean;
}

/**
 * Failures first. A quick run has no failed targets, because a few rounds show that a suite works, and
 * not how fast it is.
 */
export function problemsOf(
  { suites, machine, quick }: Report,
  { strict, ci }: Strictness,
): Problem[] {
  const problems: Problem[] = [];
  if (machine.nacl === "portable") {
    const message = "the NaCl in JavaScript was used: sodium-native did not load";
    problems.push({ level: "failure", message });
  }
  for (const { suite, status, reason = "", targets } of suites) {
    const level = ci || status === "failed" ? "failure" : "warning";
    if (status !== "completed") problems.push({ level, suite, message: `${status}: ${reason}` });
    for (const target of quick ? [] : targets) {
      const { verdict, kind } = target;
      if (verdict === "met") continue;
      const fails = verdict === "missed" || (strict && kind !== "wall");
      const message = verdict === "missed" ? "missed its target" : "is inconclusive";
      problems.push({ level: fails ? "failure" : "warning", suite, target, message });
    }
  }
  return problems.toSorted((a, b) => Number(b.level === "failure") - Number(a.level === "failure"));
}

/** "seal: 1 MiB by bound": the suite and the target, or empty. */
export function subjectOf({ suite, target }: Problem): string {
  return [suite, target?.name].filter((part) => part !== undefined).join(": ");
}

/** "missed its target: 1.31 (1.27 to 1.35), ≤ 1.25" */
export function describeProblem({ message, target }: Problem): string {
  if (target === undefined) return message;
  const interval = formatInterval(target);
  return `${message}: ${formatValue(target)}${interval && ` (${interval})`}, ${formatBound(target)}`;
}

/** "5 of 8 targets met, 1 missed, 1 suite skipped": what was not judged never counts as met. */
export function describeVerdicts(suites: readonly SuiteResult[]): string {
  const targets = suites.flatMap((suite) => suite.targets);
  const of = (verdict: Verdict): number => targets.filter((one) => one.verdict === verdict).length;
  const that = (status: SuiteResult["status"]): string =>
    counted(suites.filter((suite) => suite.status === status).length, "suite");
  const others = [
    `${of("missed")} missed`,
    `${of("inconclusive")} inconclusive`,
    `${that("failed")} failed`,
    `${that("skipped")} skipped`,
  ].filter((words) => !words.startsWith("0 "));
  const met = `${of("met")} of ${counted(targets.length, "target")} met`;
  return [targets.length === 0 ? "no targets" : met, ...others].join(", ");
}
