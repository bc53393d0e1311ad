/*
 * The requests of backups, as numbers that a reader can check, with few files. `acceptance.test.ts` runs
 * the same suite with its usual number, against its targets and the baseline.
 */
import { describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { bench, readReport } from "./bench.ts";
import { ensureMinio } from "./server.ts";
import { join } from "node:path";
import { tmpdir } from "node:os";

const FILES = 1000;

/** Of each step: all requests, and those that read. */
const REQUESTS = [
  ["first backup", 24, 14],
  ["nothing changed", 8, 3],
  ["1 % changed, clustered", 9, 3],
  ["1 % changed, scattered", 9, 3],
  ["restore", 9, 9],
  ["one file", 7, 7],
  ["forget", 16, 13],
  ["prune", 32, 15],
] as const;

type Counters = ReadonlyMap<string, number>;

const counted = async (): Promise<Counters> => {
  const folder = await mkdtemp(join(tmpdir(), "idk-snapshots-"));
  try {
    const file = join(folder, "report.json");
    const args = ["snapshots", "--files", String(FILES), "--quick", "--json", file];
    const { suites } = await readReport(file, await bench(args, { capture: true }));
    const [suite] = suites;
    if (suite?.status !== "completed") throw new Error(`${suite?.status}: ${suite?.reason}`);
    return new Map(suite.counters.map(({ name, value }) => [name, value]));
  } finally {
    await rm(folder, { recursive: true });
  }
};

const isHere = await ensureMinio();
// At once, because counts do not depend on time.
const runs = isHere ? await Promise.all([counted(), counted()]) : [];

describe.skipIf(!isHere)("backups", () => {
  const [first, second] = runs as [Counters, Counters];

  test.each(REQUESTS)("%s: %i requests, %i GETs", (step, all, gets) => {
    expect([first.get(`${step}: requests`), first.get(`${step}: GETs`)]).toEqual([all, gets]);
  });

  test("make the same requests each time", () => {
    const requests = (counters: Counters) =>
      [...counters].filter(([name]) => /: requests$|: GETs$/u.test(name));
    expect(requests(second)).toEqual(requests(first));
  });

  test("send and receive the same bytes each time, within a hundredth and 512 bytes", () => {
    for (const [name, value] of first) {
      if (!name.includes(": bytes ")) continue;
      const difference = Math.abs(second.get(name)! - value);
      expect({ name, difference, isSame: difference <= value / 100 + 512 }).toMatchObject({
        isSame: true,
      });
    }
  });

  test("send what changed, and little more", () => {
    const sent = (step: string) => first.get(`${step}: bytes sent`)!;
    expect(sent("first backup")).toBeGreaterThan(FILES * 4096);
    expect(sent("first backup")).toBeLessThan(FILES * 4096 * 1.1);
    for (const spread of ["clustered", "scattered"]) {
      expect(sent(`1 % changed, ${spread}`)).toBeGreaterThan((FILES / 100) * 4096);
      expect(sent(`1 % changed, ${spread}`)).toBeLessThan(2 ** 20);
    }
    expect(sent("nothing changed")).toBeLessThan(2 ** 16);
  });

  test("are pruned without reading a pack", () => {
    expect(first.get("prune: bytes received")).toBeLessThan(2 ** 18);
  });
});
