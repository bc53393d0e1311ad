import { expect, test } from "bun:test";
import { type Address, createStore, wrapBackend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { openCatalog } from "../../../src/catalog/open-catalog.ts";
import { createObjects } from "../../../src/objects/create-objects.ts";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import {
  failureOf,
  blobsOf,
  bodyOf,
  bytesOf,
  collect,
  copyBlob,
  copyCatalog,
  DAY,
  HOUR,
  keyOf,
  MIB,
  objectsOf,
  openRig,
  put,
  read,
} from "../support.ts";

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
      ({ seq } = (await catalog.oldestWrite(clock.now))!);
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
  const catalog = await openCatalog(await rig.newPlace());
  const other = await objectsOf(rig, { catalog });
  const before = await blobsOf(rig.backend);
  expect((await other.maintenance.sweep()).refused).toContain("the store is not");
  expect((await failureOf(other.maintenance.snapshot())).message).toContain("the store is not");
  for (const name of before) expect(await blobsOf(rig.backend)).toContain(name);
  await other.close();
  await catalog.close();
});

test("a catalog restored from a copy neither sweeps nor stores a snapshot", async () => {
  await using rig = await openRig();
  await put(rig, "k", bytesOf(3 * MIB, 1));
  await rig.objects.maintenance.snapshot();
  const catalog = await copyCatalog(rig);
  await put(rig, "l", bytesOf(3 * MIB, 2));
  await rig.objects.maintenance.snapshot();
  rig.clock.now += 2 * DAY;
  const restored = await objectsOf(rig, { catalog });
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
  let meanwhile: unknown;
  let time = Date.UTC(2026, 0, 1);
  const now = (): number => time;
  const backend = wrapBackend(memory({ now }), {
    delete:
      (remove) =>
      async (...given) => {
        if (refuses) throw new Error("no");
        meanwhile = await rig.objects.maintenance.collect();
        await remove(...given);
      },
  });
  await using rig = await openRig({ backend, now });
  await put(rig, "k", bytesOf(10, 1));
  await put(rig, "k", bytesOf(10, 2));
  time += HOUR;
  expect(await rig.objects.maintenance.collect()).toEqual({ blobs: 0, failed: 1 });
  refuses = false;
  expect(await rig.objects.maintenance.collect()).toEqual({ blobs: 1, failed: 0 });
  expect(meanwhile).toBe(false);
  expect(await blobsOf(backend)).toHaveLength(2);
});

test("a live root that is missing stops the sweep, so that it can be restored", async () => {
  await using rig = await openRig();
  const { backend, objects, catalog, clock } = rig;
  const replica = memory();
  await put(rig, "k", bytesOf(3 * MIB, 1));
  await objects.maintenance.snapshot();
  clock.now += 2 * DAY;
  const { contents } = (await catalog.openObject(rig.bucket.id, keyOf("k")))!;
  const { address } = contents[0]!;
  await copyBlob(address, backend, replica);
  await backend.delete(address);
  const before = await blobsOf(backend);
  expect((await objects.maintenance.sweep()).refused).toContain(address);
  expect(await blobsOf(backend)).toEqual(before);
  await copyBlob(address, replica, backend);
  const restored = await objects.maintenance.sweep();
  expect([restored.refused, restored.deleted]).toEqual([undefined, 0]);
  expect(await read(rig, "k")).toEqual(bytesOf(3 * MIB, 1));
});

test("without the store's time, nothing is swept and no snapshot is stored", async () => {
  await using rig = await openRig();
  await rig.objects.maintenance.snapshot();
  let isSilent = false;
  const backend = wrapBackend(rig.backend, {
    currentTime:
      (inner) =>
      async (...given) => {
        if (isSilent) throw new Error("no time");
        return inner(...given);
      },
  });
  // A clock that is a day ahead of the store's.
  const now = (): number => rig.clock.now + DAY + HOUR;
  const ahead = await objectsOf(rig, { backend, now });
  const catalog = {
    ...rig.catalog,
    commitPut: (): Promise<never> => Promise.reject(new Error("crash")),
  };
  const crashing = await objectsOf(rig, { catalog });
  await failureOf(put({ ...rig, objects: crashing }, "k", bytesOf(3 * MIB, 1)));
  const before = await blobsOf(rig.backend);
  expect(await ahead.maintenance.sweep()).toMatchObject({ deleted: 0 });
  isSilent = true;
  expect((await failureOf(ahead.maintenance.sweep())).message).toContain("no time");
  expect((await failureOf(ahead.maintenance.snapshot())).message).toContain("no time");
  expect(await blobsOf(rig.backend)).toEqual(before);
});

test("a write counts from its start by the store's clock", async () => {
  await using rig = await openRig();
  const ahead = await objectsOf(rig, { now: () => rig.clock.now + HOUR });
  let started = 0;
  const { bytes, ...body } = bodyOf(bytesOf(10, 1));
  async function* looking(): AsyncGenerator<Uint8Array> {
    started = (await rig.catalog.oldestWrite(rig.clock.now))!.started;
    yield* bytes;
  }
  const target = { bucket: rig.bucket, key: keyOf("k"), headers: {} };
  await ahead.putObject({ ...target, body: { ...body, bytes: looking() } });
  expect(started).toBe(rig.clock.now);
});

test("a write that was silent for a day is not committed after a sweep", async () => {
  await using rig = await openRig();
  const { objects, clock, catalog, bucket } = rig;
  await objects.maintenance.snapshot();
  const { bytes, ...body } = bodyOf(bytesOf(3 * MIB, 1));
  const other = await objectsOf(rig);
  // Its process is stopped, and everything is as if no time had passed when it goes on.
  const paused = { now: clock.now };
  const sleeper = await objectsOf(rig, { now: () => paused.now });
  async function* slow(): AsyncGenerator<Uint8Array> {
    let sent = 0;
    for await (const piece of bytes) {
      yield piece;
      sent += piece.length;
      if (sent < 2 * MIB || clock.now > paused.now) continue;
      clock.now += DAY + HOUR;
      expect((await other.maintenance.sweep()).deleted).toBeGreaterThan(0);
    }
  }
  const target = { bucket, key: keyOf("k"), headers: {} };
  const putting = sleeper.putObject({ ...target, body: { ...body, bytes: slow() } });
  expect(await failureOf(putting)).toMatchObject({ code: "ServiceUnavailable" });
  expect(await catalog.findObject(bucket.id, keyOf("k"))).toBeUndefined();
});

test("garbage that cannot be deleted does not stop the rest", async () => {
  await using rig = await openRig();
  const stuck = new Set<string>();
  const backend = wrapBackend(rig.backend, {
    delete:
      (remove) =>
      async (name, ...given) => {
        if (stuck.has(name)) throw new Error("no");
        await remove(name, ...given);
      },
  });
  const due = rig.clock.now;
  const names = Array.from({ length: 300 }, (_, i) => i.toString(16).padStart(64, "0") as Address);
  for (const name of names.slice(0, 290)) stuck.add(name);
  await rig.catalog.addGarbage(names.map((address) => ({ address, kind: "identity", due })));
  const objects = await objectsOf(rig, { backend });
  expect(await objects.maintenance.collect()).toEqual({ blobs: 10, failed: 290 });
});

test("a collection that is ended neither reports nor deletes what waits", async () => {
  await using rig = await openRig();
  const controller = new AbortController();
  let deleted = 0;
  const backend = wrapBackend(rig.backend, {
    delete: () => async () => {
      deleted += 1;
      await Bun.sleep(5);
      if (deleted >= 6) controller.abort();
    },
  });
  const names = Array.from({ length: 100 }, (_, i) => i.toString(16).padStart(64, "0") as Address);
  const due = rig.clock.now;
  await rig.catalog.addGarbage(names.map((address) => ({ address, kind: "identity", due })));
  const objects = await objectsOf(rig, { backend });
  expect(await objects.maintenance.collect(controller.signal)).toMatchObject({ failed: 0 });
  expect(rig.warnings).toEqual([]);
  expect(deleted).toBeLessThan(40);
  expect((await rig.catalog.dueGarbage(due, 100)).length).toBeGreaterThan(60);
});

test("garbage is due by the store's clock, also for a process that has just begun", async () => {
  await using rig = await openRig();
  const { bucket, catalog, clock } = rig;
  await put(rig, "k", bytesOf(2 * MIB, 1));
  const source = (await catalog.openObject(bucket.id, keyOf("k")))!;
  await rig.objects.deleteObjects(bucket, [{ key: keyOf("k") }]);
  await rig.objects.maintenance.collect();
  const ahead = await objectsOf(rig, { now: () => clock.now + 2 * HOUR });
  expect(await ahead.maintenance.collect()).toEqual({ blobs: 0, failed: 0 });
  expect((await collect(rig.objects.readObject(source))).length).toBe(2 * MIB);
  clock.now += HOUR;
  const behind = await objectsOf(rig, { now: () => clock.now - 2 * HOUR });
  expect(await behind.maintenance.collect()).toMatchObject({ failed: 0 });
  expect(await blobsOf(rig.backend)).not.toContain(source.contents[0]!.address);
});

test("a collection of no garbage puts no mark into the store", async () => {
  await using rig = await openRig();
  const marks = async () => Array.fromAsync(rig.backend.listMarkers!(""));
  const before = await marks();
  const other = await objectsOf(rig);
  expect(await other.maintenance.collect()).toEqual({ blobs: 0, failed: 0 });
  expect(await marks()).toEqual(before);
});

test("tombstones stay while a blob cannot be read, because it may be what they bury", async () => {
  await using rig = await openRig();
  const { backend, bucket, catalog, clock, objects } = rig;
  await put(rig, "k", bytesOf(10, 1));
  await objects.deleteObjects(bucket, [{ key: keyOf("k") }]);
  const crashing = await objectsOf(rig, {
    catalog: { ...catalog, commitPut: () => Promise.reject(new Error("crash")) },
  });
  const before = await blobsOf(backend);
  await failureOf(put({ ...rig, objects: crashing }, "l", bytesOf(10, 2)));
  const left = (await blobsOf(backend)).find((name) => !before.includes(name));
  await objects.maintenance.snapshot();
  clock.now += 2 * DAY;
  await objects.maintenance.collect();

  let isSilent = true;
  const failing = wrapBackend(backend, {
    get:
      (get) =>
      async (name, ...given) => {
        if (isSilent && name === left) throw new Error("503");
        return get(name, ...given);
      },
  });
  const { maintenance } = await objectsOf(rig, { backend: failing });
  expect(await maintenance.sweep()).toMatchObject({ deleted: 0 });
  isSilent = false;
  // The root of the write, and the tombstone.
  expect(await maintenance.sweep()).toMatchObject({ deleted: 2 });
});
