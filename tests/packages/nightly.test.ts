import { expect, test } from "bun:test";
import { join } from "node:path";
import { root } from "./projects.ts";

/** Defines the lanes of the script, and calls those that it runs with a runner that prints what it is given. */
const PRINTED = `
eval "$(sed '/^ensure_bun$/,$d' script/nightly)"
IDK_REFERENCE_PYTHON=python
slow_tests() { shift; printf '%s\\n' "$@"; }
step() { shift; [ "$1" != slow_tests ] || "$@"; }
run_lanes() { local lane; for lane in "$@"; do "lane_$lane"; done; }
eval "$(sed -n '/^run_lanes/,$p' script/nightly)"
`;

/** What the tests of the script are named by: paths from the root, or parts of them. */
function slowPaths(): readonly string[] {
  const { stdout, stderr, exitCode } = Bun.spawnSync(["bash", "-c", PRINTED, "script/nightly"], {
    cwd: root,
    env: { PATH: process.env["PATH"] ?? "", HOME: root },
  });
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  return stdout
    .toString()
    .trimEnd()
    .split("\n")
    .map((path) => path.replace(/^\.\//u, ""));
}

// Otherwise nothing would ever run them, and nobody would notice.
test("every file with tests for the nightly run is in it, and nothing else", async () => {
  const slow: string[] = [];
  for (const folder of ["packages/*/test", "tests"]) {
    for await (const file of new Bun.Glob(`${folder}/**/*.test.ts`).scan(root)) {
      const text = await Bun.file(join(root, file)).text();
      if (/process\.env\["IDK_TEST_SLOW"\] ===|\bSLOW\b[^;]*\bfrom "/u.test(text)) slow.push(file);
    }
  }
  const paths = slowPaths();
  expect(slow.filter((file) => !paths.some((path) => file.includes(path)))).toEqual([]);
  expect(paths.filter((path) => !slow.some((file) => file.includes(path)))).toEqual([]);
});
