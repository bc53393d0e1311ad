import { type OwnRepository, all, testRepository } from "../support/repositories.ts";
import { expect, test } from "bun:test";
import { storeBackup, storePack } from "../support/abstract-backup.ts";
import type { BlobShard } from "../../src/maintenance/shard.ts";
import { forget } from "../../src/maintenance/forget/forget.ts";
import { formatMarker } from "../../src/format/names/marker.ts";
import { prune } from "../../src/maintenance/prune/prune.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";
import { wrapBackend } from "@idk/storage";

const HOUR = 60 * 60 * 1000;
const GRACE = 7 * 24 * HOUR;
const DIGITS = Array.from({ length: 16 }, (_, digit) => digit.toString(16));

/** Four parts, by the first digit. */
const SHARDS: readonly BlobShard[] = [0, 4, 8, 12].map((start) => {
  const prefixes = DIGITS.slice(start, start + 4);
  return { prefixes, count: 4, has: (address) => prefixes.includes(address[0]!) };
});

async function names({ backend }: OwnRepository): Promise<string[]> {
  return (await all(backend.list(""))).map(({ name }) => name).toSorted();
}

/** Snapshots with packs of their own, of which all but the newest are forgotten and due. */
async function prepared() {
  const given = await testRepository();
  const made = [];
  for (let day = 0; day < 6; day++) {
    given.clock.now += HOUR;
    const packs = [await storePack(given), await storePack(given), await storePack(given)];
    const generation = given.clock.now;
    made.push(await storeBackup(given, given.owner, "home", { generation, packs }));
  }
  given.clock.now += 2 * GRACE;
  await forget(await given.open(), { policy: { last: 1 }, recipients: given.recipients });
  given.clock.now += GRACE;
  return { given, newest: made.at(-1)! };
}

test("parts of a prune delete what a whole one would, each its own, and list nothing else", async () => {
  const { given } = await prepared();
  const whole = await prune(await given.open(), { dryRun: true });
  expect(whole.deleted.blobs).toBeGreaterThan(15);
  let left = await names(given);
  const sum = { blobs: 0, bytes: 0, kept: 0 };
  for (const shard of SHARDS) {
    const prefixes: string[] = [];
    const over = wrapBackend(given.backend, {
      list: (list) => (prefix, options) => {
        prefixes.push(prefix);
        return list(prefix, options);
      },
    });
    const repository = await given.open(volatileHeadMemory(), over);
    const report = await prune(repository, { shard, acceptLostHeads: true });
    expect(prefixes).toEqual([...shard.prefixes]);
    sum.blobs += report.deleted.blobs;
    sum.bytes += report.deleted.bytes;
    sum.kept += report.kept.blobs;
    expect(report.missing).toBe(0);
    // The first deletes all markers, before any blob.
    expect(report.deleted.markers).toBe(shard === SHARDS[0] ? whole.deleted.markers : 0);
    const now = await names(given);
    const gone = left.filter((name) => !now.includes(name));
    expect(gone.every((name) => shard.has(name))).toBe(true);
    expect(gone).toHaveLength(report.deleted.blobs);
    left = now;
  }
  const { markers: _, ...deleted } = whole.deleted;
  expect(sum).toEqual({ ...deleted, kept: whole.kept.blobs });
  expect((await prune(await given.open())).deleted).toEqual({ markers: 0, blobs: 0, bytes: 0 });
});

test("a part counts the packs that are missing in it", async () => {
  const { given, newest } = await prepared();
  const pack = Buffer.from(newest.packs.subarray(0, 32)).toString("hex");
  await given.backend.delete(pack);
  for (const shard of SHARDS) {
    const { missing } = await prune(await given.open(), { shard, dryRun: true });
    expect(missing).toBe(shard.has(pack) ? 1 : 0);
  }
});

test("a part fails at a head in it that lost its marker, and is not pruned unless that is accepted", async () => {
  const { given, newest } = await prepared();
  const { marker } = newest;
  await given.backend.deleteMarker!(formatMarker(marker));
  const before = await names(given);
  for (const shard of SHARDS) {
    const repository = await given.open();
    const dry = prune(repository, { shard, dryRun: true });
    if (shard.has(marker.address)) expect(dry).rejects.toMatchObject({ code: "head" });
    else expect((await dry).deleted.blobs).toBeGreaterThan(0);
    expect(prune(repository, { shard })).rejects.toThrow("needs acceptLostHeads");
  }
  expect(await names(given)).toEqual(before);
});
