import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCounters, totalsOf } from "../../src/queue/counters.ts";
import { createFaults } from "../../src/queue/faults.ts";
import { totalsFile, writeWhole } from "../../src/spool/files.ts";
import { createOrphans } from "../../src/spool/orphans.ts";

const DEAD = "d".repeat(32);
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-recorder-orphans-"));
  const totals = JSON.stringify(totalsOf(createCounters()));
  const state = JSON.stringify({ beat: 1, seq: 3, totals });
  await writeWhole(folder, totalsFile(DEAD), Buffer.from(state));
});
afterEach(() => rm(folder, { recursive: true }));

test("the end of a run is sealed once, however long that takes", async () => {
  const seal = Promise.withResolvers<boolean>();
  const begun = Promise.withResolvers<void>();
  const sealed: number[] = [];
  const orphans = createOrphans({
    folder,
    run: "0".repeat(32),
    orphanMs: 0,
    faults: createFaults(undefined),
    onOtherBytes: () => {},
    adopt: () => {},
    sealLost(_, { seq }) {
      sealed.push(seq);
      begun.resolve();
      return seal.promise;
    },
  });
  await orphans.look();
  const slow = orphans.look();
  await begun.promise;
  const next = orphans.look();
  // Both end whether or not the second one seals, too.
  await Promise.race([next, Bun.sleep(200)]);
  seal.resolve(false);
  await Promise.all([slow, next]);
  expect(sealed).toEqual([3]);
  // What could not be sealed is tried again.
  await orphans.look();
  expect(sealed).toEqual([3, 3]);
  expect(await readdir(folder)).toEqual([totalsFile(DEAD)]);
});
