/**
 * Adds up the JUnit XML reports of test runners and prints `N passed, N failed, N skipped`. A missing
 * report, or one in which no test ran, is a failure, because it would go unnoticed otherwise.
 *
 * Usage: bun script/totals.ts REPORT.xml…
 */
import { XMLParser } from "fast-xml-parser";
import { z } from "zod";

interface Totals {
  passed: number;
  failed: number;
  skipped: number;
}

/** With `preserveOrder`, an element is an object whose only key besides ":@" is its name. */
const Elements = z.array(z.record(z.string(), z.unknown()));
const parser = new XMLParser({ preserveOrder: true, ignoreAttributes: true });

/** Suites nest. The outcome of a test case is a child element; a passed one has none. */
function count(xml: unknown, totals: Totals): Totals {
  const elements = Elements.safeParse(xml);
  if (!elements.success) return totals;
  for (const element of elements.data) {
    for (const [name, inside] of Object.entries(element)) {
      if (name !== "testcase") {
        count(inside, totals);
        continue;
      }
      const outcomes = new Set(Elements.parse(inside).flatMap((outcome) => Object.keys(outcome)));
      if (outcomes.has("failure") || outcomes.has("error")) totals.failed += 1;
      else if (outcomes.has("skipped")) totals.skipped += 1;
      else totals.passed += 1;
    }
  }
  return totals;
}

const totals: Totals = { passed: 0, failed: 0, skipped: 0 };
const empty: string[] = [];
for (const path of process.argv.slice(2)) {
  const file = Bun.file(path);
  const own = { passed: 0, failed: 0, skipped: 0 };
  if (await file.exists()) count(parser.parse(await file.text()), own);
  if (own.passed + own.failed === 0) empty.push(path);
  totals.passed += own.passed;
  totals.failed += own.failed;
  totals.skipped += own.skipped;
}

for (const path of empty) console.error(`${path}: no test ran`);
if (process.argv.length <= 2) console.error("Usage: bun script/totals.ts REPORT.xml…");
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exitCode = totals.failed > 0 || empty.length > 0 || totals.passed === 0 ? 1 : 0;
