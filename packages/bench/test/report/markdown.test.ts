import { describe, expect, test } from "bun:test";
import { renderMarkdown, text } from "../../src/report/markdown.ts";
import { REPORT } from "./fixtures.ts";

describe("renderMarkdown", () => {
  test("lists missed targets first and collapses measurements", () => {
    expect(renderMarkdown(REPORT)).toMatchInlineSnapshot(`
      "## Benchmarks: 1 of 2 targets met

      - ❌ **broken** failed: HTTP 500
      - ⚠️ **upload** skipped: no object store

      | suite | target            | value | bound        | outcome  |
      | :---- | :---------------- | ----: | :----------- | :------- |
      | seal  | key by &lt;bound> |  2.00 | at most 1.50 | ❌ MISSED |
      | seal  | seal by bound     |  1.00 | at most 1.10 | ✅ met    |

      <details>
      <summary><b>seal</b>: What seal takes (12.3 s)</summary>

      | measurement |  n |  median | 95 % interval |     p95 |    mean |     rate |     CPU | peak RSS | requests |    sent | × bound |
      | :---------- | -: | ------: | ------------: | ------: | ------: | -------: | ------: | -------: | -------: | ------: | ------: |
      | seal 1 MB   |  3 | 4.00 ms |       ± 1.0 % | 4.04 ms | 4.00 ms | 250 MB/s | 4.10 ms | 85.0 MiB |        1 | 977 KiB |    1.00 |
      | make a key  |  3 | 25.0 µs |       ± 1.0 % | 25.3 µs | 25.0 µs |          |         |          |          |         |         |

      _× bound: the median relative to sealing and hashing the same bytes on one thread of this machine_

      | pair            | pairs | mean difference |            interval | overhead |
      | :-------------- | ----: | --------------: | ------------------: | -------: |
      | with \\| without |     2 |        +1.50 ms | −100 µs to +3.10 ms |   +4.3 % |

      - with \\| without: the interval includes zero: no measurable difference
      - the first \\*round\\* warms up

      </details>

      idk 0.1.0, commit 0123456789ab-dirty, 2026-01-02T03:04:05.678Z<br>
      Abacus 9, 2 cores, 8.00 GiB, linux 6.1, Bun 1.4.5, native NaCl<br>
      one thread: SHA-256 500 MB/s, secretbox 500 MB/s, memory copy 10,000 MB/s
      "
    `);
  });

  test("every row of a table has as many cells as its head", () => {
    const cells = (line: string): number => line.replaceAll("\\|", "").split("|").length;
    const tables = renderMarkdown(REPORT)
      .split("\n\n")
      .filter((part) => part.startsWith("|"));
    expect(tables.length).toBe(3);
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
