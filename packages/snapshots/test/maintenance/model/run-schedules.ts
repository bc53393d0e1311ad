/*
 * Runs schedules in a process of its own, over the sources as they are, but for signatures that are verified
 * once, or with a fault in them: a text of one file that is replaced as it is loaded. Takes a `Job` as JSON, and writes a `JobResult`.
 */
import type { Counts } from "./schedule.ts";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";

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
  readonly plants: readonly Plant[];
  /** Whether hosts make real backups, of real files. */
  readonly isReal?: boolean;
}

export interface JobResult {
  readonly counts: Counts;
  /** The first schedule that failed. */
  readonly failure?: { readonly seed: number; readonly message: string };
}

/**
 * Processes verify the same heads again and again, which took an eighth of the CPU time. This is no fault:
 * the answer for the same bytes is the same.
 */
const REMEMBERED: Plant = {
  file: "format/keys/ed25519.ts",
  find: "export function verifySignature(",
  replace: `
    const verified = new Map<string, boolean>();
    export function verifySignature(...given: Parameters<typeof verifyOnce>): boolean {
      const key = given.map((part) => Buffer.from(part).toString("latin1")).join("|");
      const known = verified.get(key) ?? verifyOnce(...given);
      verified.set(key, known);
      return known;
    }
    function verifyOnce(`,
};

function plantAll(plants: readonly Plant[]): void {
  const texts = new Map<string, string>();
  for (const { file, find, replace } of plants) {
    const path = join(import.meta.dir, "../../../src", file);
    const parts = (texts.get(path) ?? readFileSync(path, "utf8")).split(find);
    if (parts.length !== 2) {
      throw new Error(`${file} has ${parts.length - 1} times the text to replace: ${find}`);
    }
    texts.set(path, parts.join(replace));
  }
  for (const [path, contents] of texts) {
    const filter = new RegExp(`^${path.replaceAll(/[./]/gu, String.raw`\$&`)}$`, "u");
    Bun.plugin({
      name: path,
      setup: (build) => void build.onLoad({ filter }, () => ({ contents, loader: "ts" })),
    });
  }
}

async function run({ firstSeed, schedules, plants, isReal = false }: Job): Promise<JobResult> {
  plantAll([REMEMBERED, ...plants]);
  // Loaded only now, so that it gets the faults.
  const { noCounts, runSchedule } = await import("./schedule.ts");
  const counts = noCounts();
  const isWhole = plants.length === 0;
  const folder = isReal ? mkdtempSync(join(tmpdir(), "idk-model-")) : undefined;
  if (folder !== undefined) process.on("exit", () => rmSync(folder, { recursive: true }));
  for (let seed = firstSeed; seed < firstSeed + schedules; seed++) {
    try {
      await runSchedule({ seed, counts, isWhole, folder });
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
