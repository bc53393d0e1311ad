import { beforeAll, describe, expect, test } from "bun:test";
import { ensureBuilt } from "../built.ts";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const script = join(import.meta.dir, "listed-names.mjs");
const [pages, length] = [50, 2 ** 19];

/** On Node, the library compiled by tsc and imported by name. */
describe("names of a listing do not keep its pages in memory", () => {
  beforeAll(ensureBuilt, 120_000);

  const node = Bun.which("node");
  test.each(["bun", ...(node !== null || process.env["CI"] ? ["node"] : [])])(
    "on %s",
    async (runtime) => {
      const command = [runtime, "--expose-gc", script, `${pages}`, `${length}`];
      const child = Bun.spawn(command, { cwd: root, stdout: "pipe", stderr: "pipe" });
      const [stdout, stderr] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      if ((await child.exited) !== 0) throw new Error(stderr);
      const { names, added } = JSON.parse(stdout) as { names: number; added: number };
      expect(names).toBe(2 * pages);
      expect(added).toBeLessThan((pages * length) / 4);
    },
    120_000,
  );
});
