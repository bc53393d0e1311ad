/**
 * Adds up what test runners wrote as JUnit XML, repeats what failed and prints `N passed, N failed, N
 * skipped`. A report that is missing or has no tests is a failure, because no one would notice it
 * otherwise.
 *
 * Usage: bun script/totals.ts [--complete] [--slowest N] REPORT.xml…
 *
 *   --complete    fail if a test file of the project is in none of the reports
 *   --slowest N   also print the N test files that took longest, in seconds
 */
import { XMLParser } from "fast-xml-parser";
import { parseArgs } from "node:util";
import { z } from "zod";

interface Totals {
  passed: number;
  failed: number;
  skipped: number;
}

/** With `preserveOrder`, an element is an object whose keys are its name and, for attributes, ":@". */
const Elements = z.array(z.record(z.string(), z.unknown()));
const Attributes = z.object({
  name: z.string().optional(),
  file: z.string().optional(),
  line: z.string().optional(),
  time: z.coerce.number().optional(),
});
const Failure = z.object({ ":@": z.object({ message: z.string() }) });
const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: "",
  htmlEntities: true,
});

const { values, positionals } = parseArgs({
  options: {
    complete: { type: "boolean", default: false },
    slowest: { type: "string", default: "0" },
  },
  allowPositionals: true,
});
const secondsByFile = new Map<string, number>();
/** Where each failed test is, its title and its message: a long log holds them far apart. */
const failures: string[] = [];

/** Test cases are nested in suites, suites in suites; an outcome is an element inside its case. */
function count(xml: unknown, totals: Totals): Totals {
  const elements = Elements.safeParse(xml);
  if (!elements.success) return totals;
  for (const { ":@": attributes, ...element } of elements.data) {
    for (const [name, inside] of Object.entries(element)) {
      if (name !== "testcase") {
        count(inside, totals);
        continue;
      }
      const outcomes = Elements.parse(inside);
      const failure = outcomes.find((outcome) => "failure" in outcome || "error" in outcome);
      const { name: title, file, line, time = 0 } = Attributes.parse(attributes ?? {});
      if (failure !== undefined) {
        totals.failed += 1;
        const message = Failure.safeParse(failure).data?.[":@"].message.trim() ?? "";
        const place = [file, line, title].filter((part) => part !== undefined).join(":");
        const lines = `${place}\n${message}`.trim().split("\n");
        failures.push(lines.slice(0, 20).join("\n    "));
      } else if (outcomes.some((outcome) => "skipped" in outcome)) totals.skipped += 1;
      else totals.passed += 1;
      if (file !== undefined) secondsByFile.set(file, (secondsByFile.get(file) ?? 0) + time);
    }
  }
  return totals;
}

const totals: Totals = { passed: 0, failed: 0, skipped: 0 };
const empty: string[] = [];
for (const path of positionals) {
  const file = Bun.file(path);
  const own = { passed: 0, failed: 0, skipped: 0 };
  if (await file.exists()) count(parser.parse(await file.text()), own);
  if (own.passed + own.failed === 0) empty.push(path);
  totals.passed += own.passed;
  totals.failed += own.failed;
  totals.skipped += own.skipped;
}

const slowest = [...secondsByFile].toSorted(([, a], [, b]) => b - a);
for (const [file, seconds] of slowest.slice(0, Number(values.slowest))) {
  console.log(`${seconds.toFixed(1).padStart(6)} s  ${file}`);
}
for (const failure of failures) console.error(`Failed: ${failure}`);
const forgotten: string[] = [];
if (values.complete) {
  for (const folder of ["packages/*/test", "tests"]) {
    for (const file of new Bun.Glob(`${folder}/**/*.test.ts`).scanSync()) {
      if (!secondsByFile.has(file)) forgotten.push(file);
    }
  }
}
for (const file of forgotten) console.error(`No lane runs ${file}`);
for (const path of empty) console.error(`No test ran for ${path}`);
if (positionals.length === 0) console.error("No test report at all");
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
const good =
  totals.failed === 0 && totals.passed > 0 && empty.length === 0 && forgotten.length === 0;
process.exitCode = good ? 0 : 1;
