/** What decides whether a run passes, in one place for the exit code and for all that shows it. */
import { QUANTITIES } from "../compare/decide.ts";
import { describeHost } from "../harness/machine.ts";
import { median } from "../statistics/describe.ts";
import type { Comparison, Report, ReportHead, SuiteResult, Target, Verdict } from "./report.ts";
import {
  counted,
  formatBits,
  formatBound,
  formatBytes,
  formatMeasured,
  formatRate,
  formatTime,
} from "./units.ts";

/** How a word is to be shown: each renderer has a colour or a mark for it. */
export type Tone = "good" | "unclear" | "bad" | "absent";

type Shown = Verdict | Problem["level"] | SuiteResult["status"];

/** Targets are shown in this order. */
export const TONES: Readonly<Record<Shown, Tone>> = {
  missed: "bad",
  inconclusive: "unclear",
  met: "good",
  failure: "bad",
  warning: "unclear",
  failed: "bad",
  skipped: "absent",
  completed: "good",
};

/** A target as it is shown; `base` and `head` are what a comparison compares. */
export type ShownTarget = Target & { suite?: string; base?: string; head?: string };

/** The targets of all suites: missed ones first, then inconclusive ones. */
export function targetsOf(suites: readonly SuiteResult[]): ShownTarget[] {
  const all = suites.flatMap(({ suite, targets, comparison }) =>
    targets.map((one) => ({ ...one, suite, ...sidesOf(one, comparison) })),
  );
  const order = Object.keys(TONES);
  return all.toSorted((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
}

/** The medians of both sides, over all batches of the last measurement. */
function sidesOf({ name }: Target, comparison?: Comparison): Pick<ShownTarget, "base" | "head"> {
  const [task, quantity] = name.split(": ");
  const of = QUANTITIES.find((one) => one.name === quantity)?.of;
  const pairs = comparison?.tasks.find((one) => one.task === task)?.attempts.at(-1)?.pairs ?? [];
  if (of === undefined || pairs.length === 0) return {};
  const medianOf = (side: "base" | "head") => median(pairs.flatMap((pair) => pair[side][of]));
  const show = of === "memory" ? formatBytes : formatTime;
  return { base: show(medianOf("base")), head: show(medianOf("head")) };
}

/** The end of the name of a target that compares with the baseline. */
export const AGAINST = ", against the baseline";

/** A reason why a run failed, or should be looked at. */
export interface Problem {
  readonly level: "failure" | "warning";
  /** Absent if it concerns the whole run. */
  readonly suite?: string | undefined;
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
      const meant = target.name.endsWith(AGAINST)
        ? "; if the change is meant, update the baseline with its reason"
        : "";
      const message = verdict === "missed" ? `missed its target${meant}` : "is inconclusive";
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
  return `${message}: ${formatMeasured(target)}, ${formatBound(target)}`;
}

/** "completed in 12.3 s", "skipped: no object store" */
export function describeStatus({ status, reason = "", seconds }: SuiteResult): string {
  if (status === "skipped") return `skipped: ${reason}`;
  const time = formatTime(seconds);
  return status === "completed" ? `completed in ${time}` : `FAILED after ${time}: ${reason}`;
}

/** One line with the outcome of a run: "Benchmarks failed: 5 of 8 targets met, 1 missed, 1 suite skipped". */
export function conclude(
  { suites, quick }: Report,
  problems: readonly Problem[],
): { readonly tone: Tone; readonly headline: string } {
  const targets = suites.flatMap((suite) => suite.targets);
  const of = (verdict: Verdict) => targets.filter((one) => one.verdict === verdict).length;
  const that = (status: SuiteResult["status"]) =>
    counted(suites.filter((suite) => suite.status === status).length, "suite");
  const skipped = that("skipped");
  // What was not judged never counts as met.
  const kind = skipped.startsWith("0 ") ? "target" : "measured target";
  const met = `${of("met")} of ${counted(targets.length, kind)} met`;
  const others = [
    `${of("missed")} missed`,
    `${of("inconclusive")} inconclusive`,
    `${that("failed")} failed`,
    `${skipped} skipped`,
  ].filter((words) => !words.startsWith("0 "));
  const counts = [targets.length === 0 ? "no targets" : met, ...others].join(", ");
  const failed = problems.some(({ level }) => level === "failure");
  const judged = targets.length > 0 && !quick;
  const passed = problems.length === 0 ? "passed" : "passed with warnings";
  const words = failed ? "failed" : judged ? passed : "not judged";
  const tone = failed ? "bad" : words === "passed" ? "good" : "unclear";
  // A comment on a pull request has both a run and a comparison.
  const what = suites.find(({ suite }) => suite === "compare")?.title ?? "Benchmarks";
  return { tone, headline: `${what} ${words}: ${counts}` };
}

/** What was between the run and the object store: empty if nothing was added. */
export function describeLine({ rtt, rate }: Pick<ReportHead, "rtt" | "rate">): string {
  const far = rtt === undefined ? "" : `, ${rtt} ms added to each request to the store`;
  return rate === undefined ? far : `${far}, over a line of ${formatBits(rate)}`;
}

/** A line each: what was measured and when, the machine, what it can do, and a warning about a quick run. */
export function describeRun(head: ReportHead): string[] {
  const { version, revision, createdAt, machine, calibration, quick } = head;
  const commit =
    revision === undefined ? "" : `, commit ${revision.replace(/^(\w{12})\w*/u, "$1")}`;
  const { sha256, secretbox, memoryCopy } = calibration;
  return [
    `idk ${version}${commit}, ${createdAt}`,
    `${describeHost(machine)}, ${machine.nacl} NaCl${describeLine(head)}`,
    `one thread: SHA-256 ${formatRate(sha256)}, secretbox ${formatRate(secretbox)}, memory copy ${formatRate(memoryCopy)}`,
    ...(quick ? ["quick run: few rounds and small sizes, too imprecise to judge"] : []),
  ];
}
