/* Checks the commands, paths and links in the documents on benchmarks. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "bun:test";
import { readArguments } from "../src/command/arguments.ts";
import { readCompare } from "../src/command/compare-command.ts";
import { readReports, withFigures } from "../src/report/figures.ts";
import { HEAD, measurement, result, target } from "./report/fixtures.ts";
import { suites } from "../src/suites.ts";

const ROOT = join(import.meta.dir, "../../..");
const DOCUMENTS = ["README.md", "docs/benchmarks.md", "packages/bench/README.md"];

async function textOf(document: string): Promise<string> {
  return Bun.file(join(ROOT, document)).text();
}

/** Command lines of code blocks that other tests do not run, without their explanations. */
async function lines(): Promise<string[]> {
  const all = await Promise.all(
    DOCUMENTS.map(async (document) => {
      const fenced = (await textOf(document)).matchAll(/^```([^\n]*)\n(.*?)^```$/gmsu);
      const blocks = Array.from(fenced, ([, language, block]) =>
        language!.startsWith("sh not run") ? block! : "",
      );
      return blocks.flatMap((block) => block.split("\n")).map((line) => line.split(/ {2,}/u)[0]!);
    }),
  );
  return all.flat();
}

test("every idk bench command line is valid", async () => {
  const read: string[] = [];
  for (const line of await lines()) {
    const [, typed] = /^(?:(?:script\/\w+ run )+script\/)?idk bench(?: (.*))?$/u.exec(line) ?? [];
    if (!/\bidk bench\b/u.test(line)) continue;
    const args = Array.from(
      typed?.matchAll(/"([^"]*)"|\S+/gu) ?? [],
      ([word, inside]) => inside ?? word,
    );
    if (args[0] === "compare") expect(readCompare(args.slice(1))).not.toHaveProperty("help");
    else expect("text" in readArguments(args, suites)).toBe(args.includes("--list"));
    read.push(line);
  }
  expect(read.length).toBeGreaterThan(12);
});

test("every named script exists", async () => {
  const named = (await lines()).flatMap((line) =>
    Array.from(
      line.matchAll(/(?:^|\s)((?:\.\/)?(?:script|packages|tests)\/\S+)/gu),
      ([, path]) => path!,
    ),
  );
  expect(named).toContain("script/peers");
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test("every link leads to a file", async () => {
  for (const document of DOCUMENTS) {
    const links = Array.from(
      (await textOf(document)).matchAll(/\]\((?!https?:)([^)#\s]+)/gu),
      ([, link]) => link!,
    );
    const missing = links.filter((link) => !existsSync(join(ROOT, dirname(document), link)));
    expect({ document, missing }).toEqual({ document, missing: [] });
  }
});

test("docs/benchmarks.md lists every suite, and what each needs", async () => {
  const text = await textOf("docs/benchmarks.md");
  const rows = Array.from(text.matchAll(/^\| `([^` ]+)` ?([¹³]?)(?: ?(³))?/gmu), (row) =>
    row.slice(1),
  );
  const listed = rows.map(([name, ...marks]) => [name, marks.join("")].join(" "));
  const marked = suites.map(({ name, needsObjectStore, slow }) =>
    [name, `${needsObjectStore ? "¹" : ""}${slow ? "³" : ""}`].join(" "),
  );
  expect(listed.toSorted()).toEqual(marked.toSorted());
});

test("docs/benchmarks.md has the figures of the committed reports", async () => {
  const text = await textOf("docs/benchmarks.md");
  // The formatter aligns tables.
  const unaligned = (document: string): string => document.replaceAll(/[ -]+|\n+/gu, " ");
  const reports = await readReports(join(ROOT, "benchmarks"));
  expect(reports.size).toBeGreaterThan(0);
  expect(unaligned(text)).toBe(unaligned(withFigures(text, reports)));
});

test("misses of a far store say so", () => {
  const suites = [result("peers", { targets: [target("put", 3, 2), target("get", 1, 2)] })];
  const reports = new Map([
    ["near", { ...HEAD, suites }],
    ["far", { ...HEAD, rtt: 50, suites }],
    ["slow", { ...HEAD, rtt: 50, rate: 12.5e6, suites }],
  ]);
  const places = ["misses", "near", "far", "slow"].map((name) => `<!-- figures:${name} -->`);
  const text = places.map((place) => `${place}<!-- figures:end -->`).join("");
  const [, misses = ""] = withFigures(text, reports).split("<!-- figures:");
  const rows = misses.split("\n").filter((line) => line.startsWith("| put"));
  expect(rows.map((row) => row.split("|").at(-2)?.trim())).toEqual([
    "peers",
    "peers, 50 ms away",
    "peers, 50 ms away, over 100 Mbit/s",
  ]);
});

test("a document may ask for the tables of times", () => {
  const suites = [result("peers", { measurements: [measurement("put, restic", 2)] })];
  const places = ["figures:misses", "figures:near", "measurements:near"];
  const text = places.map((place) => `<!-- ${place} --><!-- figures:end -->`).join("");
  const [figures, measured] = withFigures(text, new Map([["near", { ...HEAD, suites }]])).split(
    "<!-- measurements:near -->",
  );
  expect(figures).not.toContain("put, restic");
  expect(measured).toMatch(/\| put, restic .*2\.00 s/u);
});

test.each(["figures:old", "measurements:old"])(
  "a document has no %s of a report that is gone",
  (old) => {
    const text = ["figures:misses", old].map((place) => `<!-- ${place} --><!-- figures:end -->`);
    expect(() => withFigures(text.join(""), new Map())).toThrow(
      `no report has the figures for <!-- ${old} -->`,
    );
  },
);
