import { describeHost } from "../harness/machine.ts";
import { type Paint, drawGrid, plain } from "./draw.ts";
import { BOUND_LEGEND, counterGrid, measurementGrids, pairGrid, targetGrid } from "./grid.ts";
import { type Problem, targetsOf } from "./outcome.ts";
import type { Calibration, Machine, Report, SuiteResult, Verdict } from "./report.ts";
import { counted, formatRate, formatTime } from "./units.ts";

/** A report without its suites. */
export type ReportHead = Omit<Report, "suites">;

/** The version, the machine and its calibration. */
export function renderHead(head: ReportHead, paint: Paint = plain): string {
  const lines = [describeVersion(head), describeMachine(head.machine), describeRates(head)];
  if (head.quick) lines.push(paint("yellow", QUICK));
  return lines.join("\n");
}

export const QUICK = "quick run: few rounds and small sizes, too imprecise to judge";

export function describeVersion({ version, revision, createdAt }: ReportHead): string {
  const dirty = revision?.endsWith("-dirty") === true ? "-dirty" : "";
  const commit = revision === undefined ? "" : `, commit ${revision.slice(0, 12)}${dirty}`;
  return `idk ${version}${commit}, ${createdAt}`;
}

export function describeMachine(machine: Machine): string {
  return `${describeHost(machine)}, ${machine.nacl} NaCl`;
}

export function describeRates({ calibration }: Pick<ReportHead, "calibration">): string {
  const { sha256, secretbox, memoryCopy } = calibration;
  return `one thread: SHA-256 ${formatRate(sha256)}, secretbox ${formatRate(secretbox)}, memory copy ${formatRate(memoryCopy)}`;
}

/** @param width of the terminal in characters, by default unlimited */
export function renderSuite(
  suite: SuiteResult,
  calibration: Calibration,
  paint: Paint = plain,
  width?: number,
): string {
  const lines = [
    `${paint("bold", suite.suite)}  ${suite.title}`,
    `  ${describeStatus(suite, paint)}`,
  ];
  if (suite.measurements.length > 0) {
    for (const grid of measurementGrids(suite, calibration)) {
      lines.push("", drawGrid(grid, paint, width));
    }
    if (suite.measurements.some(({ bytesPerOperation }) => bytesPerOperation)) {
      lines.push(paint("dim", `  ${BOUND_LEGEND}`));
    }
  }
  if (suite.pairs.length > 0) {
    lines.push("", drawGrid(pairGrid(suite.pairs), paint, width));
    lines.push(...suite.pairs.map(({ name, verdict }) => indented(`${name}: ${verdict}`, width)));
  }
  if (suite.counters.length > 0) {
    lines.push("", drawGrid(counterGrid(suite.counters), paint, width));
  }
  if (suite.targets.length > 0) {
    lines.push("", drawGrid(targetGrid(suite.targets, verdictWord(paint)), paint, width));
  }
  if (suite.notes.length > 0) {
    lines.push("", ...suite.notes.map((note) => indented(`note: ${note}`, width)));
  }
  return lines.join("\n");
}

/** A sentence, wrapped between words. */
function indented(sentence: string, width: number = Infinity): string {
  const [indent, hanging] = ["  ", "    "];
  const room = width - hanging.length;
  const text = Number.isFinite(room) ? Bun.wrapAnsi(sentence, Math.max(room, 20)) : sentence;
  return `${indent}${text.replaceAll("\n", `\n${hanging}`)}`;
}

function describeStatus({ status, reason = "", seconds }: SuiteResult, paint: Paint): string {
  switch (status) {
    case "completed":
      return `completed in ${formatTime(seconds)}`;
    case "skipped":
      return `${paint("yellow", "skipped")}: ${reason}`;
    case "failed":
      return `${paint(["red", "bold"], "FAILED")} after ${formatTime(seconds)}: ${reason}`;
    default:
      return status satisfies never;
  }
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
  const targets = targetsOf(suites);
  const met = targets.filter(({ verdict }) => verdict === "met").length;
  return [
    `${counted(suites.length, "suite")}, ${met} of ${counted(targets.length, "target")} met`,
    ...problems.map(({ level, suite, target, message }) => {
      const word =
        level === "failure" ? paint(["red", "bold"], "FAILED") : paint("yellow", "warning");
      const what = [suite, target?.name].filter((part) => part !== undefined).join(": ");
      return `${word} ${what}${what && " "}${message}`;
    }),
  ].join("\n");
}
