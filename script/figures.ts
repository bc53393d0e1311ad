/**
 * Writes the figures of the reports in benchmarks/ into docs/benchmarks.md.
 *
 * Usage: bun script/figures.ts
 */
import { join } from "node:path";
import { readReports, withFigures } from "@idk/bench";

const ROOT = join(import.meta.dirname, "..");
const document = Bun.file(join(ROOT, "docs/benchmarks.md"));
const reports = await readReports(join(ROOT, "benchmarks"));
await document.write(withFigures(await document.text(), reports));
