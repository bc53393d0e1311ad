import { join } from "node:path";
import { expect, test } from "bun:test";
import { scalingReport, withReport } from "../../src/scale-and-cost/report.ts";

test("the design document has the tables that the script prints", async () => {
  const document = await Bun.file(join(import.meta.dir, "../../../../docs/design.md")).text();
  // Otherwise: bun packages/bench/src/scaling.ts --write
  expect(withReport(document, scalingReport())).toBe(document);
});

test("a document without a place for the tables is refused, and one with it keeps the rest", () => {
  expect(() => withReport("# Design\n", "tables")).toThrow("no place");
  const mark = "<!-- bun packages/bench/src/scaling.ts --write -->\n";
  const written = withReport(`before\n${mark}old\n<!-- end -->\nafter\n`, "new");
  expect(written).toBe(`before\n${mark}\nnew\n\n<!-- end -->\nafter\n`);
});
