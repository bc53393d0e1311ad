import { join } from "node:path";
import { expect, test } from "bun:test";
import { scalingReport, withReport } from "../../script/scale-and-cost/report.ts";

test("the design document has the tables that the script prints", async () => {
  const document = await Bun.file(join(import.meta.dir, "../../docs/design.md")).text();
  // Otherwise: bun script/scale-and-cost/main.ts --write
  expect(withReport(document, scalingReport())).toBe(document);
});

test("withReport keeps the rest of the document, and rejects one without markers", () => {
  expect(() => withReport("# Design\n", "tables")).toThrow("no markers");
  const mark = "<!-- bun script/scale-and-cost/main.ts --write -->\n";
  const written = withReport(`before\n${mark}old\n<!-- end -->\nafter\n`, "new");
  expect(written).toBe(`before\n${mark}\nnew\n\n<!-- end -->\nafter\n`);
});
