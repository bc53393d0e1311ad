/**
 * Condenses comparisons of a revision with itself into recorded-noise.json, which the power test draws
 * from. Record ten on a machine that does nothing else:
 *
 *   for i in 0 1 2 3 4 5 6 7 8 9; do
 *     script/minio run script/idk bench compare HEAD HEAD --json noise-$i.json
 *   done
 *   bun packages/bench/test/compare/record-noise.ts noise-?.json
 */
import { join } from "node:path";
import { z } from "zod";
import { type RecordedNoise, encodePair } from "./recorded-noise.ts";

/** More pairs of one run would only make the file longer. */
const PAIRS_MOST = 8;

/** In reports, and in the comparisons of before, which had the name of each revision as well. */
const commit = z.union([z.string(), z.object({ commit: z.string() })]);
const side = z.object({
  cpu: z.array(z.number()),
  elapsed: z.array(z.number()),
  memory: z.number(),
});
const pairs = z.array(z.object({ base: side, head: side }));
const comparisonSchema = z.object({
  base: commit,
  head: commit,
  tasks: z.array(z.object({ task: z.string(), attempts: z.array(z.object({ pairs })) })),
});
const fileSchema = z.object({
  machine: z.object({ processor: z.string(), cores: z.number(), runtime: z.string() }),
  suites: z
    .array(z.object({ comparison: comparisonSchema }))
    .length(1)
    .optional(),
});

const files = process.argv.slice(2);
if (files.length === 0) throw new Error("usage: record-noise.ts COMPARISON.json…");
const tasks: Record<string, string[][]> = {};
let where = "";
for (const file of files) {
  const json: unknown = await Bun.file(file).json();
  const { machine, suites } = fileSchema.parse(json);
  const { base, head, tasks: measured } = suites?.[0]!.comparison ?? comparisonSchema.parse(json);
  if (!Bun.deepEquals(base, head)) throw new Error(`${file} compares two revisions`);
  where = `${machine.processor}, ${machine.cores} cores, ${machine.runtime}`;
  for (const { task, attempts } of measured) {
    (tasks[task] ??= []).push(attempts[0]!.pairs.slice(0, PAIRS_MOST).map(encodePair));
  }
}
const what =
  "ln(head / base) in units of 0.0001 of every pair of processes, by task and run, of comparisons of a " +
  `revision with itself: CPU time of the batches | elapsed time | peak memory. ${where}`;
const recorded: RecordedNoise = { what, runs: files.length, tasks };
const target = join(import.meta.dir, "recorded-noise.json");
await Bun.write(target, `${JSON.stringify(recorded, undefined, 2)}\n`);
console.log(`${target}: ${files.length} runs of ${Object.keys(tasks).length} tasks`);
