import { describe, expect, test } from "bun:test";
import { renderMarkdown, text } from "../../src/report/markdown.ts";
import { PROBLEMS, REPORT } from "./fixtures.ts";

describe("renderMarkdown", () => {
  test("lists missed targets first and collapses measurements", () => {
    expect(renderMarkdown(REPORT, PROBLEMS)).toMatchInlineSnapshot(`
      "## ❌ Benchmarks: 1 of 3 targets met, 1 missed, 1 inconclusive, 1 suite failed, 1 suite skipped

      - ❌ **broken** failed: HTTP 500
      - ⚠️ **upload** skipped: no object store

      | target            | verdict         | value | interval     | bound  | suite |
      | :---------------- | :-------------- | ----: | :----------- | :----- | :---- |
      | key by &lt;bound> | ❌ MISSED        |  2.00 |              | ≤ 1.50 | seal  |
      | open by bound     | ⚠️ inconclusive |  1.00 | 0.60 to 1.40 | ≤ 1.10 | seal  |
      | seal by bound     | ✅ met           |  1.00 |              | ≤ 1.10 | seal  |

      <details>
      <summary><b>seal</b>: What seal takes (12.3 s)</summary>

      | measurement |  n |  median |  ± 95 % |     p95 |    mean |     rate |     CPU |     peak |     heap |
      | :---------- | -: | ------: | ------: | ------: | ------: | -------: | ------: | -------: | -------: |
      | seal 1 MB   |  3 | 4.00 ms | ± 1.0 % | 4.04 ms | 4.00 ms | 250 MB/s | 4.10 ms | 85.0 MiB | 12.0 MiB |
      | make a key  |  3 | 25.0 µs | ± 1.0 % | 25.3 µs | 25.0 µs |          |         |          |          |

      | pair            | pairs | mean difference |            interval | overhead |
      | :-------------- | ----: | --------------: | ------------------: | -------: |
      | with \\| without |     2 |        +1.50 ms | −100 µs to +3.10 ms |   +4.3 % |

      | operation |    hashed |
      | :-------- | --------: |
      | seal 1 MB | 1,000,040 |

      - with \\| without: the interval includes zero: no measurable difference
      - the first \\*round\\* warms up

      </details>

      idk 0.1.0, commit 0123456789ab-dirty, 2026-01-02T03:04:05.678Z<br>
      Abacus 9, 2 cores, 8.00 GiB, linux 6.1, Bun 1.4.5, native NaCl<br>
      one thread: SHA-256 500 MB/s, secretbox 500 MB/s, memory copy 10,000 MB/s
      "
    `);
  });

  test("the report of one suite has its title", () => {
    const [suite] = REPORT.suites;
    const suites = [{ ...suite!, title: "a|b<i> against main" }];
    expect(renderMarkdown({ ...REPORT, suites }, [])).toStartWith(
      "## ✅ a\\|b&lt;i> against main: 1 of 3 targets met",
    );
  });

  test("every row of a table has as many cells as its head", () => {
    const cells = (line: string): number => line.replaceAll("\\|", "").split("|").length;
    const tables = renderMarkdown(REPORT, PROBLEMS)
      .split("\n\n")
      .filter((part) => part.startsWith("|"));
    expect(tables.length).toBe(4);
    for (const table of tables) {
      const [head, ...rows] = table.split("\n").map(cells);
      expect(rows.length).toBeGreaterThanOrEqual(2);
      expect(rows.every((row) => row === head)).toBe(true);
    }
  });

  test("escapes names", () => {
    expect(text("a|b <script> *c* `d` [e](f)\n# g & h")).toBe(
      "a\\|b &lt;script> \\*c\\* \\`d\\` \\[e\\](f) \\# g &amp; h",
    );
  });
});
