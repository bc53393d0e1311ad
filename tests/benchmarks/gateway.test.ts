/*
 * The slow suite of the gateway, with little of everything: that each promise is measured and what comes back
 * is right. `acceptance.test.ts` judges the suite that takes seconds, and every night this one is judged.
 */
import { describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { ensureMinio, ensurePython } from "./server.ts";
import { bench, readReport } from "./bench.ts";
import { join } from "node:path";
import { tmpdir } from "node:os";

const isHere = (await ensureMinio()) && (await ensurePython());

describe.skipIf(!isHere)("the S3 gateway at scale", () => {
  test("has a target for each promise", async () => {
    const folder = await mkdtemp(join(tmpdir(), "idk-gateway-"));
    try {
      const file = join(folder, "report.json");
      const args = ["gateway-scale", "--size", "1MB,6MB", "--quick", "--json", file];
      const { suites } = await readReport(file, await bench(args, { capture: true }));
      const [suite] = suites;
      if (suite?.status !== "completed") throw new Error(`${suite?.status}: ${suite?.reason}`);
      expect(suite.targets.map(({ name }) => name).toSorted()).toEqual(
        [
          "4 KiB GET: rate to that of the store itself",
          "4 KiB PUT: rate to that of the store itself",
          "4 uploads and 4 downloads of 1 MB at once: peak memory of the gateway",
          "HEAD among 1100 keys, one by one: rate to that of the store itself",
          "HEAD among 1100 keys: rate to that of the store itself",
          "LIST of 1000 among 1100 keys: rate to that of the store itself",
          "LIST of a page among 1100 keys: time",
          "LIST of a page of folders among 1100 keys: time",
          "down 1 MB: rate to that of the store itself",
          "down 6 MB: rate to that of the store itself",
          "start among 1100 keys: time",
          "up 1 MB: rate to that of the store itself",
          "up 6 MB: rate to that of the store itself",
        ].toSorted(),
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  }, 120_000);
});
