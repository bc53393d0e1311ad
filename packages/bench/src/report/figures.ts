/** The figures of committed reports in docs/benchmarks.md, between its markers. */
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { targetGrid } from "./grid.ts";
import { draw } from "./markdown.ts";
import { describeRun } from "./table.ts";
import { targetsOf } from "./outcome.ts";
import type { Report, Target } from "./report.ts";
import { reportSchema } from "./schema.ts";
import { counted } from "./units.ts";

/** A report and the name of its file without its ending: "suites" of benchmarks/suites.json. */
export interface NamedReport {
  readonly name: string;
  readonly report: Report;
}

/** Reads every report in a folder; the baseline is none. */
export async function readReports(folder: string): Promise<NamedReport[]> {
  const files = (await readdir(folder)).filter(
    (file) => file.endsWith(".json") && file !== "baseline.json",
  );
  return Promise.all(
    files.toSorted().map(async (file) => ({
      name: file.slice(0, -".json".length),
      report: reportSchema.parse(JSON.parse(await readFile(join(folder, file), "utf8"))),
    })),
  );
}

/**
 * Replaces what stands between `<!-- figures:misses -->` or `<!-- figures:NAME -->` and the next
 * `<!-- figures:end -->`.
 *
 * @throws Error if the document has no place for a report
 */
export function withFigures(document: string, reports: readonly NamedReport[]): string {
  let text = replaced(document, "misses", missesOf(reports));
  for (const { name, report } of reports) text = replaced(text, name, figuresOf(report));
  return text;
}

function replaced(document: string, name: string, figures: string): string {
  const start = `<!-- figures:${name} -->`;
  const [from, end] = [document.indexOf(start), "<!-- figures:end -->"];
  const to = document.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`the document has no ${start} … ${end}`);
  return `${document.slice(0, from)}${start}\n\n${figures}\n\n${document.slice(to)}`;
}

/** Whether the value is on the right side of its goal, if it has one. */
function reachesGoal({ value, goal, least }: Target): boolean {
  return goal === undefined || (least === undefined ? value <= goal : value >= goal);
}

function missesOf(reports: readonly NamedReport[]): string {
  const misses = reports.flatMap(({ report }) =>
    targetsOf(report.suites).filter((target) => target.verdict !== "met" || !reachesGoal(target)),
  );
  if (misses.length === 0) return "Every target is met, and every goal is reached.";
  return `**Not met, or short of its goal:**\n\n${tableOf(misses)}`;
}

function figuresOf(report: Report): string {
  const targets = targetsOf(report.suites).filter(({ name }) => !name.endsWith("the baseline"));
  const met = targets.filter(({ verdict }) => verdict === "met").length;
  const about = `${describeRun(report).slice(0, 2).join("; ")}. ${met} of ${counted(targets.length, "target")} met.`;
  const notes = report.suites.flatMap(({ suite, status, reason = "" }) =>
    status === "completed" ? [] : [`${suite} was ${status}: ${reason}.`],
  );
  return [about, ...notes, tableOf(targets)].join("\n\n");
}

function tableOf(targets: readonly Target[]): string {
  return draw(targetGrid(targets, (verdict) => verdict));
}
