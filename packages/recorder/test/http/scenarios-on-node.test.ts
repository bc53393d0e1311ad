import { expect, test } from "bun:test";
import { join } from "node:path";
import { node, runOnNode } from "../support/on-node.ts";
import { scenarios } from "./scenarios.ts";

test.skipIf(node === null && process.env["CI"] === undefined)(
  `${node === null ? "skipped: no Node.js: " : ""}the same on Node`,
  async () => {
    const { stderr, stdout } = await runOnNode(join(import.meta.dir, "run-scenarios.ts"));
    expect(stderr).toBe("");
    expect(stdout.trim().split("\n")).toEqual(scenarios.map(({ name }) => `pass ${name}`));
  },
  120_000,
);
