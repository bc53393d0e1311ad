import { beforeAll, describe, expect, test } from "bun:test";
import { ensureBuilt } from "../built.ts";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");

/** The library compiled by tsc and imported by name. A script run by Node does the checking. */
describe("on Node", () => {
  const node = Bun.which("node");

  beforeAll(ensureBuilt);

  const onNode = node === null && !process.env["CI"] ? test.skip : test;
  onNode.each(["native", "portable"])(
    "known answers and round trips succeed with the %s NaCl",
    async (nacl) => {
      expect(node).not.toBeNull();
      const script = join(import.meta.dir, "node-round-trip.mjs");
      const child = Bun.spawn([node!, script, nacl], { cwd: root, stdout: "pipe", stderr: "pipe" });
      const [stdout, stderr] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      expect({ stderr, exitCode: await child.exited }).toEqual({ stderr: "", exitCode: 0 });
      // Three fewer if this Node has no zstd.
      expect(stdout).toMatch(new RegExp(`^${nacl}: 5 known answers, 1[25] round trips$`, "mu"));
    },
    60_000,
  );
});
