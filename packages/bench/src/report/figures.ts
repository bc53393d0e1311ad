/** The figures of committed reports in docs/benchmarks.md, between its markers. */
import { readFile, readdir } from "node:fs/promises";
import { join, parse } from "node:path";
import { partsOf, targetGrid } from "./grid.ts";
import { draw } from "./markdown.ts";
import { describeRun, targetsOf } from "./outcome.ts";
import { type Report, type Target, reportSchema } from "./report.ts";
import { counted, formatBits } from "./units.ts";

/** Reads every report in a folder, by the name of its file: "suites". The baseline is none. */
export async function readReports(folder: string): Promise<ReadonlyMap<string, Report>> {
  const reports = new Map<string, Report>();
  for (const file of (await readdir(folder)).toSorted()) {
    const { name, ext } = parse(file);
    if (ext !== ".json" || name === "baseline") continue;
    reports.set(name, reportSchema.parse(JSON.parse(await readFile(join(folder, file), "utf8"))));
  }
  return reports;
}

/**
 * Replaces what stands between `<!-- figures:misses -->` or `<!-- figures:NAME -->` and the next
 * `<!-- figures:end -->`, with targets. After `<!-- measurements:NAME -->`, which a document may leave out,
 * come the tables of times, memory and counters.
 *
 * @throws Error if the document has no place for a report, or a place without a report
 */
export function withFigures(document: string, reports: ReadonlyMap<string, Report>): string {
  let text = document;
  const figures = new Map([["figures:misses", missesOf([...reports.values()])]]);
  for (const [name, report] of reports) {
    figures.set(`figures:${name}`, figuresOf(report));
    const measured = `measurements:${name}`;
    if (text.includes(`<!-- ${measured} -->`)) figures.set(measured, measurementsOf(report));
  }
  for (const [, name] of text.matchAll(/<!-- ((?:figures|measurements):\S+) -->/gu)) {
    if (name === "figures:end" || figures.has(name!)) continue;
    throw new Error(`no report has the figures for <!-- ${name} -->`);
  }
  for (const [name, figure] of figures) {
    const start = `<!-- ${name} -->`;
    const from = text.indexOf(start);
    const to = text.indexOf("<!-- figures:end -->", from);
    if (from < 0 || to < 0) throw new Error(`the document has no ${start} … <!-- figures:end -->`);
    text = `${text.slice(0, from)}${start}\n\n${figure}\n\n${text.slice(to)}`;
  }
  return text;
}

/** Whether the value is on the right side of its goal, if it has one. */
function reachesGoal({ value, goal, least }: Target): boolean {
  return goal === undefined || (least === undefined ? value <= goal : value >= goal);
}

function missesOf(reports: readonly Report[]): string {
  const misses = reports.flatMap(({ suites, ...head }) =>
    targetsOf(suites)
      .filter((target) => target.verdict !== "met" || !reachesGoal(target))
      .map((one) => Object.assign(one, { suite: `${one.suite}${awayOf(head)}` })),
  );
  if (misses.length === 0) return "Every target is met, and every goal is reached.";
  return `**Not met, or short of its goal:**\n\n${tableOf(misses)}`;
}

function awayOf({ rtt, rate }: Pick<Report, "rtt" | "rate">): string {
  const away = rtt === undefined ? "" : `, ${rtt} ms away`;
  return rate === undefined ? away : `${away}, over ${formatBits(rate)}`;
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

function measurementsOf({ suites }: Report): string {
  return suites.flatMap((suite) => partsOf(suite, true).grids.map(draw)).join("\n\n");
}

function tableOf(targets: readonly Target[]): string {
  return draw({ ...targetGrid(targets), tones: [] });
}
