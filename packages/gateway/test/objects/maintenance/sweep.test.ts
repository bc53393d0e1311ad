import { expect, test } from "bun:test";
import { copyFile } from "node:fs/promises";
import { createStore, wrapBackend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { openCatalog } from "../../../src/catalog/open-catalog.ts";
import { createObjects } from "../../../src/objects/create-objects.ts";
import type { Objects } from "../../../src/objects/objects.ts";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import {
  failureOf,
  blobsOf,
  bodyOf,
  bytesOf,
  DAY,
  keyOf,
  openRig,
  put,
  read,
  type Rig,
} from "../support.ts";

const MIB = 2 ** 20;

/** Another gateway over the same store, with another catalog. */
async function withCatalog({ backend, identity, clock }: Rig, catalog: Catalog): Promise<Objects> {
  const keys = { recipients: [identity.recipient], identities: [identity] };
  const now = (): number => clock.now;
  return createObjects({ ...keys, backend, catalog, background: false, now });
}

test("a sweep deletes what crashed writes left, and nothing else", async () => {
  let broken = false;
  const store = { now: Date.UTC(2026, 0, 1) };
  const backend = memory({ now: () => store.now });
  await using rig = await openRig({ backend, now: () => store.now });
  const { objects, bucket, catalog } = rig;
  const failing = {
    ...catalog,
    commitPut: (...given: Parameters<Catalog["commitPut"]>) =>
      broken ? Promise.reject(new Error("crash")) : catalog.commitPut(...given),
  };
  const crashing = await createObjects({
    backend,
    catalog: failing,
    recipients: [rig.identity.recipient],
    identities: [rig.identity],
    background: false,
    now: () => store.now,
  });
  await put(rig, "short", bytesOf(10, 1));
  await put(rig, "long", bytesOf(3 * MIB, 2));
  const source = (await catalog.openObject(bucket.id, keyOf("long")))!;
  await objects.copyObject({ bucket, key: keyOf("copy"), headers: {}, source });
  await objects.deleteObjects(bucket, [{ key: keyOf("long") }]);
  const upload = (await catalog.createUpload({
    bucket: bucket.id,
    key: keyOf("p"),
    owner: "me",
    time: 0,
    headers: {},
    tags: [],
    options: {},
  }))!;
  await objects.putPart({ upload, number: 1, body: bodyOf(bytesOf(2 * MIB, 3)) });
  await objects.maintenance.collect();
  await objects.maintenance.snapshot();
  const before = await blobsOf(backend);

  broken = true;
  for (const size of [10, 3 * MIB]) {
    const body = bodyOf(bytesOf(size, 4));
    const putting = crashing.putObject({ bucket, key: keyOf("crash"), headers: {}, body });
    expect((await failureOf(putting)).message).toContain("crash");
  }
  await rig.objects.createBucket({ name: "gone", owner: "", region: "", time: 0 });
  await rig.objects.deleteBucket((await catalog.findBucket("gone"))!);
  expect((await blobsOf(backend)).length).toBeGreaterThan(before.length + 5);

  expect(await objects.maintenance.sweep()).toMatchObject({ orphans: 0, deleted: 0, forged: [] });
  store.now += DAY + 10 * 60_000;
  const dry = await objects.maintenance.sweep({ dryRun: true });
  expect(dry.orphans).toBeGreaterThan(5);
  const report = await objects.maintenance.sweep();
  expect(report.refused).toBeUndefined();
  expect(report.deleted).toBe(dry.orphans);
  // A tombstone whose object is gone has no more use.
  const after = await blobsOf(backend);
  expect(before.filter((name) => !after.includes(name))).toHaveLength(1);
  expect(after.filter((name) => !before.includes(name))).toEqual([]);
  expect(await read(rig, "copy")).toEqual(bytesOf(3 * MIB, 2));
  expect((await objects.maintenance.check({ deep: true })).faultCount).toBe(0);
  expect(await objects.maintenance.sweep()).toMatchObject({ orphans: 0, deleted: 0 });
});

test("a write that lasts longer than a day keeps its first chunks", async () => {
  await using rig = await openRig();
  const { objects, bucket, clock, catalog } = rig;
  await objects.maintenance.snapshot();
  const bytes = bytesOf(3 * MIB, 1);
  const { bytes: pieces, ...body } = bodyOf(bytes);
  let seq = 0;
  async function* slow(): AsyncGenerator<Uint8Array> {
    let sent = 0;
    for await (const piece of pieces) {
      yield piece;
      sent += piece.length;
      if (sent < 2 * MIB || seq > 0) continue;
      // The timers of this process do not run two days in an instant.
      seq = (await catalog.nextSeq()) - 1;
      await catalog.beginWrite(seq, clock.now);
      clock.now += 2 * DAY;
      await catalog.beat([seq], clock.now);
      expect((await objects.maintenance.sweep()).deleted).toBe(0);
      clock.now -= 2 * DAY;
    }
  }
  const given = { bucket, key: keyOf("k"), headers: {}, body: { ...body, bytes: slow() } };
  await objects.putObject(given);
  expect(seq).toBeGreaterThan(0);
  expect(await read(rig, "k")).toEqual(bytes);
});

test("an empty catalog sweeps nothing of a store that has objects", async () => {
  await using rig = await openRig();
  await put(rig, "k", bytesOf(3 * MIB, 1));
  rig.clock.now += 2 * DAY;
  const catalog = await openCatalog(`${rig.catalogPath}-empty`);
  const other = await withCatalog(rig, catalog);
  const before = await blobsOf(rig.backend);
  expect((await other.maintenance.sweep()).refused).toContain("store one first");
  await other.maintenance.snapshot();
  expect((await other.maintenance.sweep()).refused).toContain("should know of");
  for (const name of before) expect(await blobsOf(rig.backend)).toContain(name);
  await other.close();
  await catalog.close();
});

test("a catalog restored from a copy neither sweeps nor stores a snapshot", async () => {
  await using rig = await openRig();
  await put(rig, "k", bytesOf(3 * MIB, 1));
  await rig.objects.maintenance.snapshot();
  const copy = `${rig.catalogPath}-copy`;
  for (const end of ["", "-wal", "-shm"]) {
    await copyFile(`${rig.catalogPath}${end}`, `${copy}${end}`).catch(() => {});
  }
  await put(rig, "l", bytesOf(3 * MIB, 2));
  await rig.objects.maintenance.snapshot();
  rig.clock.now += 2 * DAY;
  const catalog = await openCatalog(copy);
  const restored = await withCatalog(rig, catalog);
  expect((await restored.maintenance.sweep()).refused).toContain("newer snapshot");
  expect((await failureOf(restored.maintenance.snapshot())).message).toContain("newer snapshot");
  expect(await read(rig, "l")).toEqual(bytesOf(3 * MIB, 2));
  await restored.close();
  await catalog.close();
});

test("an incomplete catalog sweeps nothing", async () => {
  await using rig = await openRig();
  await rig.objects.maintenance.snapshot();
  await rig.catalog.setComplete(false);
  expect((await rig.objects.maintenance.sweep()).refused).toContain("incomplete");
});

test("roots of others are reported, and left alone", async () => {
  await using rig = await openRig();
  const { backend, identity, clock, objects } = rig;
  const others = createStore({ backend, recipients: [identity.recipient] });
  const forged = await others.put("x", {
    metadata: { s3: new Uint8Array(3), mac: new Uint8Array(32) },
  });
  await objects.maintenance.snapshot();
  clock.now += 2 * DAY;
  expect((await objects.maintenance.sweep()).forged).toEqual([forged]);
  expect(await blobsOf(backend)).toContain(forged);
});

test("one process collects at a time, and garbage that cannot be deleted stays", async () => {
  let refuses = true;
  const backend = wrapBackend(memory(), {
    delete:
      (remove) =>
      async (...given) => {
        if (refuses) throw new Error("no");
        await remove(...given);
      },
  });
  await using rig = await openRig({ backend });
  await put(rig, "k", bytesOf(10, 1));
  await put(rig, "k", bytesOf(10, 2));
  expect(await rig.objects.maintenance.collect()).toEqual({ blobs: 0, failed: 1 });
  refuses = false;
  const both = await Promise.all([
    rig.objects.maintenance.collect(),
    rig.objects.maintenance.collect(),
  ]);
  expect(both).toContainEqual({ blobs: 1, failed: 0 });
  expect(both).toContain(false);
  expect(await blobsOf(backend)).toHaveLength(2);
});
