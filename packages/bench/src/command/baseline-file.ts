import { readFile } from "node:fs/promises";
import { type Baseline, parseBaseline } from "../baseline/baseline.ts";
import { type BaselineChange, checkComparable, compareToBaseline } from "../baseline/compare.ts";
import type { Report } from "../report/report.ts";
import type { Suite } from "../suite.ts";
import type { RunSettings } from "./arguments.ts";
import { reasonOf } from "./run-suites.ts";
import { Usage } from "./usage.ts";

/** A baseline that a run is held to. Its refusals are `Usage`, and name its file. */
export interface BaselineFile {
  /**
   * Before anything is measured.
   *
   * @throws Usage where it cannot fit a run of these suites
   */
  check(suites: readonly Suite[], nacl: Report["machine"]["nacl"]): void;
  /** @throws Usage where the run has measured something else */
  compare(report: Report): BaselineChange[];
  /** The same, or nothing where it would refuse: for a look before everything is measured. */
  tryCompare(report: Report): BaselineChange[] | undefined;
}

/** @throws Usage where the file cannot be read, or is no baseline */
export async function readBaselineFile({
  baseline: file,
  suites,
  tolerance,
}: Pick<RunSettings, "baseline" | "suites" | "tolerance">): Promise<BaselineFile | undefined> {
  if (file === undefined) return undefined;
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new Usage(`cannot read the baseline ${file}: ${reasonOf(error)}`, { cause: error });
  });
  const refusing = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw new Usage(`the baseline ${file} ${reasonOf(error)}`, { cause: error });
    }
  };
  const baseline: Baseline = refusing(() => parseBaseline(text));
  const waiting = suites.filter(({ needsObjectStore }) => needsObjectStore);
  const io = new Set(waiting.map(({ name }) => name));
  const compare = (report: Report): BaselineChange[] =>
    refusing(() => compareToBaseline(baseline, report, { io, tolerance }));
  return {
    check(chosen, nacl) {
      const names = chosen.map(({ name }) => name);
      refusing(() => checkComparable(baseline, names, nacl));
    },
    compare,
    tryCompare(report) {
      try {
        return compare(report);
      } catch {
        return undefined;
      }
    },
  };
}
