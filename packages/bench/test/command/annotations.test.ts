import { join } from "node:path";
import { tmpdir } from "node:os";
import { expect, test } from "bun:test";
import { writeBaseline } from "../../src/baseline/baseline.ts";
import { HEAD } from "../report/fixtures.ts";
import { bench, fakeSuite } from "./fake-context.ts";

const suites = [fakeSuite("one", { value: 2 }), fakeSuite("two")];

test("on GitHub, each problem is an annotation at its line of the baseline", async () => {
  const file = join(tmpdir(), `idk-baseline-${process.pid}.json`);
  const { processor, cores } = HEAD.machine;
  const one = { targets: { "put by bound": null }, counters: {} };
  await writeBaseline(file, {
    schema: "idk-bench-baseline/3",
    machine: { processor, cores },
    updates: [],
    suites: { one },
  });
  const line = (await Bun.file(file).text())
    .split("\n")
    .findIndex((text) => text.includes("put by"));
  const env = { GITHUB_ACTIONS: "true", GITHUB_WORKSPACE: tmpdir() };
  const { code, stderr, stdout } = await bench(["--baseline", file], { suites, env });
  await Bun.file(file).delete();
  expect(code).toBe(1);
  const place = `file=idk-baseline-${process.pid}.json,line=${line + 1}`;
  expect(stderr).toContain(
    `::error ${place},title=one%3A put by bound::missed its target: 2.00, ≤ 1.10\n`,
  );
  // Standard output may be a report.
  expect(stdout).not.toContain("::error");
});

test("elsewhere there are no annotations", async () => {
  const args = ["--baseline", "none"];
  expect((await bench(args, { suites })).stderr).not.toContain("::");
  const { stderr } = await bench(args, { suites, env: { GITHUB_ACTIONS: "true" } });
  expect(stderr).toContain("\n::error title=one%3A put by bound::missed its target");
});
