/*
 * Runs schedules in a process of its own, over the sources as they are or with a fault in them: a text of
 * one file that is replaced as it is loaded. Takes a `Job` as JSON, and writes a `JobResult`.
 */
import type { Counts } from "./schedule.ts";
import type { WritingRules } from "./host.ts";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A fault of the sources. */
export interface Plant {
  /** Below `src`. */
  readonly file: string;
  /** Must be there exactly once. */
  readonly find: string;
  readonly replace: string;
}

export interface Job {
  readonly firstSeed: number;
  readonly schedules: number;
  /** Rules of hosts that are not kept. */
  readonly broken: readonly (keyof WritingRules)[];
  readonly plants: readonly Plant[];
}

export interface JobResult {
  readonly counts: Counts;
  /** The first schedule that failed. */
  readonly failure?: { readonly seed: number; readonly message: string };
}

function plant({ file, find, replace }: Plant): void {
  const path = join(import.meta.dir, "../../../src", file);
  const text = readFileSync(path, "utf8");
  const parts = text.split(find);
  if (parts.length !== 2) {
    throw new Error(`${file} has ${parts.length - 1} times what a fault replaces: ${find}`);
  }
  const contents = parts.join(replace);
  Bun.plugin({
    name: file,
    setup(build) {
      build.onLoad(
        { filter: new RegExp(`${file.replaceAll(/[./]/gu, String.raw`\$&`)}$`, "u") },
        () => ({
          contents,
          loader: "ts",
        }),
      );
    },
  });
}

async function run({ firstSeed, schedules, broken, plants }: Job): Promise<JobResult> {
  for (const one of plants) plant(one);
  // Loaded only now, so that it gets the faults.
  const { noCounts, runSchedule } = await import("./schedule.ts");
  const { WRITING_RULES } = await import("./host.ts");
  const rules = { ...WRITING_RULES, ...Object.fromEntries(broken.map((rule) => [rule, false])) };
  const counts = noCounts();
  const isWhole = plants.length + broken.length === 0;
  for (let seed = firstSeed; seed < firstSeed + schedules; seed++) {
    try {
      await runSchedule({ seed, rules, counts, isWhole });
    } catch (error) {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
      return { counts, failure: { seed, message } };
    }
  }
  return { counts };
}

if (import.meta.main) {
  const result = await run(JSON.parse(process.argv[2] ?? "") as Job);
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
