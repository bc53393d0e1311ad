import { readFile } from "node:fs/promises";
import { type Baseline, parseBaseline } from "../baseline/baseline.ts";
import { type BaselineChange, checkComparable, compareToBaseline } from "../baseline/compare.ts";
import type { Report } from "../report/report.ts";
import type { Suite } from "../suite.ts";
import type { RunSettings } from "./arguments.ts";
import { reasonOf } from "./run-suites.ts";
import { Usage } from "./usage.ts";

/** A baseline to compare a run with. Its errors are `Usage` and name the file. */
export interface BaselineFile {
  /**
   * Checks what can be checked before anything is measured.
   *
   * @throws Usage if a run of these suites cannot match the baseline
   */
  check(suites: readonly Suite[], nacl: Report["machine"]["nacl"]): void;
  /** @throws Usage if the run measured something else */
  compare(report: Report): BaselineChange[];
  /** As `compare`, but returns undefined instead of throwing. */
  tryCompare(report: Report): BaselineChange[] | undefined;
}

/** @throws Usage if the file cannot be read or is not a baseline */
export async function readBaselineFile({
  baseline: file,
  suites,
  tolerance,
}: Pick<RunSettings, "baseline" | "suites" | "tolerance">): Promise<BaselineFile | undefined> {
  if (file === undefined) return undefined;
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new Usage(`cannot read the baseline ${file}: ${reasonOf(error)}`, { cause: error });
  });
  const asUsage = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw new Usage(`the baseline ${file} ${reasonOf(error)}`, { cause: error });
    }
  };
  const baseline: Baseline = asUsage(() => parseBaseline(text));
  const ioSuites = suites.filter(({ needsObjectStore }) => needsObjectStore);
  const io = new Set(ioSuites.map(({ name }) => name));
  const compare = (report: Report): BaselineChange[] =>
    asUsage(() => compareToBaseline(baseline, report, { io, tolerance }));
  return {
    check(chosen, nacl) {
      const names = chosen.map(({ name }) => name);
      asUsage(() => checkComparable(baseline, names, nacl));
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
