import { describe, expect, test } from "bun:test";
import { renderMarkdown, text } from "../../src/report/markdown.ts";
import { PROBLEMS, REPORT, result, target } from "./fixtures.ts";

describe("renderMarkdown", () => {
  test("lists missed targets first, and what else went wrong", () => {
    expect(renderMarkdown(REPORT, PROBLEMS)).toMatchInlineSnapshot(`
      "## ❌ Benchmarks failed: 1 of 3 measured targets met, 1 missed, 1 inconclusive, 1 suite failed, 1 suite skipped

      - ❌ **broken** failed: HTTP 500
      - ⚠️ **upload** skipped: no object store

      | target                        | verdict         | value | interval     | bound  | suite  |
      | :---------------------------- | :-------------- | ----: | :----------- | :----- | :----- |
      | key by &lt;bound>             | ❌ missed        |  2.00 |              | ≤ 1.50 | seal   |
      | open by bound                 | ⚠️ inconclusive |  1.00 | 0.60 to 1.40 | ≤ 1.10 | seal   |
      | seal by bound                 | ✅ met           |  1.00 |              | ≤ 1.10 | seal   |
      | not measured: no object store | ➖ skipped       |       |              |        | upload |

      idk 0.1.0, commit 0123456789ab-dirty, 2026-01-02T03:04:05.678Z<br>
      Abacus 9, 2 cores, 8.00 GiB, linux 6.1, Bun 1.4.5, native NaCl<br>
      one thread: SHA-256 500 MB/s, secretbox 500 MB/s, memory copy 10,000 MB/s
      "
    `);
  });

  test("a comparison has its title", () => {
    const [suite] = REPORT.suites;
    const suites = [{ ...suite!, suite: "compare", title: "a|b<i> against main" }];
    expect(renderMarkdown({ ...REPORT, suites }, [])).toStartWith(
      "## ✅ a\\|b&lt;i> against main passed: 1 of 3 targets met",
    );
  });

  test("every row of a table has as many cells as its head", () => {
    const cells = (line: string): number => line.replaceAll("\\|", "").split("|").length;
    const suites = [result("a|b", { targets: [target("x | y", 1, 2), target("`z`", 3, 2)] })];
    const markdown = renderMarkdown({ ...REPORT, suites }, []);
    const table = markdown.split("\n\n").find((part) => part.startsWith("|"))!;
    const [head, ...rows] = table.split("\n").map(cells);
    expect(rows).toHaveLength(3);
    expect(rows.every((row) => row === head)).toBe(true);
  });

  test("escapes names", () => {
    expect(text("a|b <script> *c* `d` [e](f)\n# g & h")).toBe(
      "a\\|b &lt;script> \\*c\\* \\`d\\` \\[e\\](f) \\# g &amp; h",
    );
  });
});
