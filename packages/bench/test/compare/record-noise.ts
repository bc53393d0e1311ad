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
import { type Pair, comparisonSchema } from "../../src/compare/comparison.ts";
import { type RecordedNoise, encodePair } from "./recorded-noise.ts";

/** More pairs of one run would only make the file longer. */
const PAIRS_MOST = 8;

const files = process.argv.slice(2);
if (files.length === 0) throw new Error("usage: record-noise.ts COMPARISON.json…");
const tasks: Record<string, string[][]> = {};
let where = "";
for (const file of files) {
  const { base, head, machine, ...comparison } = comparisonSchema.parse(
    await Bun.file(file).json(),
  );
  if (base.commit !== head.commit) throw new Error(`${file} compares two revisions`);
  where = `${machine.processor}, ${machine.cores} cores, ${machine.runtime}`;
  for (const { task, attempts } of comparison.tasks) {
    const pairs: readonly Pair[] = attempts[0]!.pairs.slice(0, PAIRS_MOST);
    (tasks[task] ??= []).push(pairs.map(encodePair));
  }
}
const what =
  "ln(head / base) in units of 0.0001 of every pair of processes, by task and run, of comparisons of a " +
  `revision with itself: CPU time of the batches | elapsed time | peak memory. ${where}`;
const recorded: RecordedNoise = { what, runs: files.length, tasks };
const target = join(import.meta.dir, "recorded-noise.json");
await Bun.write(target, `${JSON.stringify(recorded, undefined, 2)}\n`);
console.log(`${target}: ${files.length} runs of ${Object.keys(tasks).length} tasks`);
