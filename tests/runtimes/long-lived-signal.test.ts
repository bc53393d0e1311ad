import { beforeAll, describe, expect, test } from "bun:test";
import { ensureBuilt } from "../built.ts";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const script = join(import.meta.dir, "long-lived-signal.mjs");

/** On Node, the library compiled by tsc and imported by name. */
describe("thousands of calls under one signal leave nothing behind in it", () => {
  beforeAll(ensureBuilt, 120_000);

  const node = Bun.which("node");
  test.each(["bun", ...(node !== null || process.env["CI"] ? ["node"] : [])])(
    "on %s",
    async (runtime) => {
      const child = Bun.spawn([runtime, script], { cwd: root, stdout: "pipe", stderr: "pipe" });
      const [stdout, stderr] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      if ((await child.exited) !== 0) throw new Error(stderr);
      const { kept, ...left } = JSON.parse(stdout) as { kept: Record<string, number> };
      expect(Object.entries(kept).filter(([, listeners]) => listeners !== 0)).toEqual([]);
      expect(Object.keys(kept)).toHaveLength(19);
      // A signal derived from it is remembered by Node for as long as it lives.
      expect(left).toEqual({ derived: 0, listeners: 0, dependants: 0 });
    },
    120_000,
  );
});
