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
      const { kept, opened, ...left } = JSON.parse(stdout) as {
        kept: Record<string, number>;
        opened: number;
      };
      expect(Object.entries(kept).filter(([, listeners]) => listeners !== 0)).toEqual([]);
      expect(Object.keys(kept)).toHaveLength(20);
      // Node closes the connection after each response to HEAD, in case that a body follows.
      if (runtime === "bun") expect(opened).toBeLessThan(2);
      // A signal derived from it is remembered by Node for as long as it lives.
      expect(left).toEqual({ derived: 0, listeners: 0, dependants: 0 });
    },
    120_000,
  );
});
