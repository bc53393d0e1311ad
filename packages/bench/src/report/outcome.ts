/** What decides whether a run passes, in one place for the exit code, the tables and the annotations. */
import type { Report, SuiteResult, Target } from "./report.ts";

export interface SuiteTarget extends Target {
  readonly suite: string;
}

export function targetsOf(suites: readonly SuiteResult[]): SuiteTarget[] {
  return suites.flatMap(({ suite, targets }) => targets.map((target) => ({ ...target, suite })));
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
    if (status === "failed")
      problems.push({ level: "failure", suite, message: `failed: ${reason}` });
    if (status === "skipped") {
      const level = ci ? "failure" : "warning";
      problems.push({ level, suite, message: `skipped: ${reason}` });
    }
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
