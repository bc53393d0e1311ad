import { describeHost } from "../harness/machine.ts";
import { type Paint, drawGrid, plain } from "./draw.ts";
import { counterGrid, measurementGrids, pairGrid, targetGrid } from "./grid.ts";
import { type Problem, describeProblem, describeVerdicts, subjectOf } from "./outcome.ts";
import type { Report, SuiteResult, Verdict } from "./report.ts";
import { counted, formatRate, formatTime } from "./units.ts";

/** A report without its suites. */
export type ReportHead = Omit<Report, "suites">;

/** The version, the machine and its calibration. */
export function renderHead(head: ReportHead, paint: Paint = plain): string {
  return [...describeRun(head), ...(head.quick ? [paint("yellow", QUICK)] : [])].join("\n");
}

export const QUICK = "quick run: few rounds and small sizes, too imprecise to judge";

/** Three lines: what was measured and when, the machine, and what it can do. */
export function describeRun(head: ReportHead): [string, string, string] {
  const { version, revision, createdAt, machine, calibration, rtt } = head;
  const dirty = revision?.endsWith("-dirty") === true ? "-dirty" : "";
  const commit = revision === undefined ? "" : `, commit ${revision.slice(0, 12)}${dirty}`;
  const far = rtt === undefined ? "" : `, ${rtt} ms added to each request to the store`;
  const { sha256, secretbox, memoryCopy } = calibration;
  return [
    `idk ${version}${commit}, ${createdAt}`,
    `${describeHost(machine)}, ${machine.nacl} NaCl${far}`,
    `one thread: SHA-256 ${formatRate(sha256)}, secretbox ${formatRate(secretbox)}, memory copy ${formatRate(memoryCopy)}`,
  ];
}

/** @param width of the terminal in characters, by default unlimited */
export function renderSuite(suite: SuiteResult, paint: Paint = plain, width?: number): string {
  const { pairs, counters, targets, notes } = suite;
  const grids = [
    ...measurementGrids(suite, true),
    pairs.length > 0 && pairGrid(pairs),
    counters.length > 0 && counterGrid(counters),
    targets.length > 0 && targetGrid(targets, verdictWord(paint)),
  ].filter((grid) => grid !== false);
  const sentences = [
    ...pairs.map(({ name, verdict }) => `${name}: ${verdict}`),
    ...notes.map((note) => `note: ${note}`),
  ];
  return [
    `${paint("bold", suite.suite)}  ${suite.title}\n  ${describeStatus(suite, paint)}`,
    ...grids.map((grid) => drawGrid(grid, paint, width)),
    ...(sentences.length > 0 ? [sentences.map((text) => indented(text, width)).join("\n")] : []),
  ].join("\n\n");
}

/** A sentence, wrapped between words. */
function indented(sentence: string, width: number = 10_000): string {
  const text = Bun.wrapAnsi(sentence, Math.max(width - 4, 20));
  return `  ${text.replaceAll("\n", "\n    ")}`;
}

function describeStatus({ status, reason = "", seconds }: SuiteResult, paint: Paint): string {
  if (status === "completed") return `completed in ${formatTime(seconds)}`;
  if (status === "skipped") return `${paint("yellow", "skipped")}: ${reason}`;
  return `${paint(["red", "bold"], "FAILED")} after ${formatTime(seconds)}: ${reason}`;
}

function verdictWord(paint: Paint): (verdict: Verdict) => string {
  const words: Record<Verdict, string> = {
    met: paint("green", "met"),
    missed: paint(["red", "bold"], "MISSED"),
    inconclusive: paint("yellow", "inconclusive"),
  };
  return (verdict) => words[verdict];
}

/** The summary: counts, and every problem. */
export function renderOutcome(
  suites: readonly SuiteResult[],
  problems: readonly Problem[],
  paint: Paint = plain,
): string {
  return [
    `${counted(suites.length, "suite")}, ${describeVerdicts(suites)}`,
    ...problems.map((problem) => {
      const word =
        problem.level === "failure" ? paint(["red", "bold"], "FAILED") : paint("yellow", "warning");
      const subject = subjectOf(problem);
      return `${word} ${subject}${subject && " "}${describeProblem(problem)}`;
    }),
  ].join("\n");
}
