import { expect, test } from "bun:test";
import { createStore, wrapBackend } from "@idk/storage";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import type { Upload } from "../../../src/catalog/records.ts";
import {
  blobsOf,
  bodyOf,
  bytesOf,
  copyBlob,
  DAY,
  failureOf,
  HOUR,
  keyOf,
  MIB,
  objectsOf,
  openRig,
  put,
  read,
  rebuiltOf,
  type Rig,
} from "../support.ts";

/** A catalog some of whose transactions fail: nobody is told whether they were done. */
function failing(rig: Rig, ...methods: (keyof Catalog)[]): Catalog {
  const down = (): Promise<never> => Promise.reject(new Error("down"));
  return { ...rig.catalog, ...Object.fromEntries(methods.map((method) => [method, down])) };
}

async function begin({ catalog, bucket, clock }: Rig, key: string): Promise<Upload> {
  const upload = await catalog.createUpload({
    bucket: bucket.id,
    key: keyOf(key),
    owner: "",
    time: clock.now,
    headers: {},
    tags: [],
    options: {},
  });
  return upload!;
}

/** What a rebuild finds under a key. */
async function rebuiltRead(rig: Rig, key: string): Promise<Uint8Array | undefined> {
  const { catalog, objects } = await rebuiltOf(rig);
  try {
    return await read({ objects, catalog, bucket: rig.bucket }, key);
  } finally {
    await catalog.close();
  }
}

test.each(["first", "last"])(
  "content that a copy shares with what was replaced stays, if the copy is listed %s",
  async (place) => {
    await using rig = await openRig();
    const { objects, bucket, catalog, clock } = rig;
    const first = await put(rig, "k", bytesOf(3 * MIB, 1));
    const source = (await catalog.openObject(bucket.id, keyOf("k")))!;
    const copy = await objects.copyObject({ bucket, key: keyOf("c"), headers: {}, source });
    const second = await put(rig, "k", bytesOf(10, 3));
    // The order in which a listing names them, which is that of hashes.
    const order: string[] = [first.root, second.root, copy.root];
    if (place === "first") order.reverse();
    const backend = {
      ...rig.backend,
      async *list(...given: Parameters<typeof rig.backend.list>) {
        const all = await Array.fromAsync(rig.backend.list(...given));
        yield* all.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
      },
    };
    const { report, ...rebuilt } = await rebuiltOf(rig, { backend });
    expect(report).toMatchObject({ isComplete: true, faultCount: 0 });
    clock.now += 3 * HOUR;
    expect(await rebuilt.objects.maintenance.collect()).toEqual({ blobs: 0, failed: 0 });
    expect(await read({ ...rebuilt, bucket }, "c")).toEqual(bytesOf(3 * MIB, 1));
    await rebuilt.catalog.close();
  },
);

test("a failed write whose content is gone is passed over for what was acknowledged", async () => {
  await using rig = await openRig();
  const { bucket, catalog, clock } = rig;
  await put(rig, "k", bytesOf(2 * MIB, 1));
  await put(rig, "x", bytesOf(3 * MIB, 2));
  const source = (await catalog.openObject(bucket.id, keyOf("x")))!;
  const crashing = await objectsOf(rig, { catalog: failing(rig, "commitPut") });
  const copying = crashing.copyObject({ bucket, key: keyOf("k"), headers: {}, source });
  expect((await failureOf(copying)).message).toBe("down");
  await rig.objects.deleteObjects(bucket, [{ key: keyOf("x") }]);
  clock.now += 2 * HOUR;
  await rig.objects.maintenance.collect();

  const { report, ...rebuilt } = await rebuiltOf(rig);
  expect(report).toMatchObject({ isComplete: true, faultCount: 0, passedOverCount: 1 });
  expect(await read({ ...rebuilt, bucket }, "k")).toEqual(bytesOf(2 * MIB, 1));
  clock.now += 2 * DAY;
  await rebuilt.objects.maintenance.snapshot();
  const sweep = await rebuilt.objects.maintenance.sweep();
  expect(sweep.refused).toBeUndefined();
  expect(sweep.deleted).toBeGreaterThan(0);
  expect(await read({ ...rebuilt, bucket }, "k")).toEqual(bytesOf(2 * MIB, 1));
  await rebuilt.catalog.close();
});

test("an object whose content is missing makes the catalog incomplete", async () => {
  await using rig = await openRig();
  await put(rig, "k", bytesOf(3 * MIB, 1));
  const { contents, object } = (await rig.catalog.openObject(rig.bucket.id, keyOf("k")))!;
  await rig.backend.delete(contents[0]!.address);
  const { report, catalog } = await rebuiltOf(rig);
  expect(report).toMatchObject({ objects: 1, isComplete: false, passedOverCount: 0 });
  expect(report.faults.map(({ address }) => address)).toEqual([object.root]);
  await catalog.close();
});

test.each([false, true])(
  "an upload that was aborted after its Complete failed stays aborted, with a condition: %p",
  async (isConditional) => {
    await using rig = await openRig();
    const { bucket } = rig;
    const { etag } = await put(rig, "k", bytesOf(2 * MIB, 1));
    const upload = await begin(rig, "k");
    const body = bodyOf(bytesOf(3 * MIB, 3));
    const part = await rig.objects.putPart({ upload, number: 1, body });
    const crashing = await objectsOf(rig, { catalog: failing(rig, "completeUpload") });
    const whole = { bucket, upload, parts: [part], etag: `${"0".repeat(32)}-1`, checksums: {} };
    const condition = isConditional ? { ifMatch: [etag] } : undefined;
    const completing = crashing.completeUpload({ ...whole, condition });
    expect((await failureOf(completing)).message).toBe("down");
    await rig.objects.abortUpload(upload);
    expect(await failureOf(rig.objects.abortUpload(upload))).toMatchObject({
      code: "NoSuchUpload",
    });
    // The parts are still there.
    expect(await rebuiltRead(rig, "k")).toEqual(bytesOf(2 * MIB, 1));
  },
);

test("a part of an aborted upload does not come back without its chunks", async () => {
  await using rig = await openRig();
  const { catalog, backend, objects } = rig;
  const upload = await begin(rig, "k");
  for (const number of [1, 2]) {
    await objects.putPart({ upload, number, body: bodyOf(bytesOf(2 * MIB, number)) });
  }
  const { contents } = await catalog.openUpload(upload);
  const before = await blobsOf(backend);
  await objects.maintenance.snapshot();
  await objects.abortUpload(upload);
  // A collection that was killed: it begins with the chunks of a root.
  const store = createStore({ backend, identities: [rig.identity], workers: 0 });
  const [chunk] = await Array.fromAsync(store.treeAddresses(contents[0]!.address));
  expect(before).toContain(chunk!);
  await backend.delete(chunk!);
  const rebuilt = await rebuiltOf(rig);
  expect(rebuilt.report.isComplete).toBe(true);
  const parts = await rebuilt.catalog.listParts(upload, 0, 10);
  expect(parts.map(({ number }) => number)).toEqual([2]);
  await rebuilt.catalog.close();
});

test("an abort that cannot be sealed is not acknowledged, and can be repeated", async () => {
  let refuses = false;
  await using rig = await openRig();
  const backend = wrapBackend(rig.backend, {
    put:
      (inner) =>
      async (...given) => {
        if (refuses) throw new Error("full");
        await inner(...given);
      },
  });
  const objects = await objectsOf(rig, { backend });
  const upload = await begin(rig, "k");
  const part = await objects.putPart({ upload, number: 1, body: bodyOf(bytesOf(MIB, 3)) });
  const crashing = await objectsOf(rig, { catalog: failing(rig, "completeUpload") });
  const whole = { bucket: rig.bucket, upload, parts: [part], etag: "", checksums: {} };
  await failureOf(crashing.completeUpload(whole));
  refuses = true;
  expect((await failureOf(objects.abortUpload(upload))).message).toContain("full");
  refuses = false;
  await objects.abortUpload(upload);
  expect(await rebuiltRead(rig, "k")).toBeUndefined();
});

test("a conditional write that failed does not win over a write that was acknowledged later", async () => {
  await using rig = await openRig();
  const { bucket } = rig;
  const { promise: waiting, resolve: go } = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  async function* slow(): AsyncGenerator<Uint8Array> {
    begun.resolve();
    await waiting;
    yield bytesOf(50, 1);
  }
  const target = { bucket, key: keyOf("k"), headers: {} };
  const body = { ...bodyOf(bytesOf(50, 1)), bytes: slow() };
  const putting = rig.objects.putObject({ ...target, body });
  await begun.promise;
  const crashing = await objectsOf(rig, { catalog: failing(rig, "commitPut") });
  const condition = { ifNoneMatch: ["*"] };
  const claiming = crashing.putObject({ ...target, body: bodyOf(bytesOf(77, 2)), condition });
  expect((await failureOf(claiming)).message).toBe("down");
  go();
  await putting;
  expect(await rebuiltRead(rig, "k")).toEqual(bytesOf(50, 1));
  // And the claim does not stand in the way.
  const again = { ...target, body: bodyOf(bytesOf(5, 5)), condition: { ifMatch: ["*"] } };
  await rig.objects.putObject(again);
  expect(await read(rig, "k")).toEqual(bytesOf(5, 5));
});

test("a conditional write whose root may be in the store can be repeated at once", async () => {
  await using rig = await openRig();
  const { bucket, catalog } = rig;
  const late: (() => Promise<void>)[] = [];
  const backend = wrapBackend(rig.backend, {
    put:
      (inner) =>
      async (...[name, blob, given]) => {
        const bytes = blob.slice();
        late.push(() => inner(name, bytes, given));
        throw new Error("timed out");
      },
  });
  const failing = await objectsOf(rig, { backend });
  const target = { bucket, key: keyOf("k"), headers: {}, condition: { ifNoneMatch: ["*"] } };
  const first = failing.putObject({ ...target, body: bodyOf(bytesOf(77, 1)) });
  expect((await failureOf(first)).message).toContain("timed out");
  const again = await rig.objects.putObject({ ...target, body: bodyOf(bytesOf(50, 2)) });
  // One of them has succeeded, so no other does.
  const third = rig.objects.putObject({ ...target, body: bodyOf(bytesOf(5, 3)) });
  expect(await failureOf(third)).toMatchObject({ code: "PreconditionFailed" });
  // The store completes the request of the first one after all. A rebuild does not take it.
  for (const put of late) await put();
  expect(await rebuiltRead(rig, "k")).toEqual(bytesOf(50, 2));
  // It stays registered, for the sweep.
  expect(await catalog.fateOf(bucket.id, target.key, again.seq)).toBe("committed");
  expect((await catalog.counts()).writes).toBe(1);
});

test("a refused write whose root cannot be deleted does not come back", async () => {
  await using rig = await openRig();
  const { bucket, catalog } = rig;
  await put(rig, "k", bytesOf(2 * MIB, 1));
  await put(rig, "x", bytesOf(3 * MIB, 2));
  const source = (await catalog.openObject(bucket.id, keyOf("x")))!;
  await rig.objects.deleteObjects(bucket, [{ key: keyOf("x") }]);
  const backend = wrapBackend(rig.backend, {
    delete: () => async () => {
      throw new Error("403");
    },
  });
  const locked = await objectsOf(rig, { backend });
  const before = new Set(await blobsOf(rig.backend));
  const copying = locked.copyObject({ bucket, key: keyOf("k"), headers: {}, source });
  expect(await failureOf(copying)).toMatchObject({ code: "OperationAborted" });
  // The root, and that it is void.
  expect((await blobsOf(rig.backend)).filter((name) => !before.has(name))).toHaveLength(2);
  expect(await rebuiltRead(rig, "k")).toEqual(bytesOf(2 * MIB, 1));
});

test("a refused write that can neither be deleted nor declared void is not called refused", async () => {
  await using rig = await openRig();
  const { bucket, catalog } = rig;
  await put(rig, "x", bytesOf(3 * MIB, 2));
  const source = (await catalog.openObject(bucket.id, keyOf("x")))!;
  await rig.objects.deleteObjects(bucket, [{ key: keyOf("x") }]);
  let puts = 0;
  const backend = wrapBackend(rig.backend, {
    delete: () => async () => {
      throw new Error("403");
    },
    put:
      (inner) =>
      async (...given) => {
        puts += 1;
        if (puts > 1) throw new Error("full");
        await inner(...given);
      },
  });
  const locked = await objectsOf(rig, { backend });
  const copying = locked.copyObject({ bucket, key: keyOf("k"), headers: {}, source });
  expect(await failureOf(copying)).toMatchObject({ code: "ServiceUnavailable" });
});

test("an object of another store with the same identity is refused", async () => {
  await using other = await openRig();
  for (let i = 0; i < 5; i++) await put(other, "k", bytesOf(10, i));
  const secret = await put(other, "k", bytesOf(33, 9));
  await using rig = await openRig({ identities: [other.identity] });
  await put(rig, "k", bytesOf(10, 1));
  await copyBlob(secret.root, other.backend, rig.backend);
  const { report, ...rebuilt } = await rebuiltOf(rig);
  expect(report).toMatchObject({ forged: [secret.root], isComplete: true });
  expect(await read({ ...rebuilt, bucket: rig.bucket }, "k")).toEqual(bytesOf(10, 1));
  await rebuilt.catalog.close();
});

test("without its marker, a store is known by what was sealed for it", async () => {
  await using other = await openRig();
  const foreign = await put(other, "k", bytesOf(33, 9));
  await using rig = await openRig({ identities: [other.identity] });
  await put(rig, "k", bytesOf(10, 1));
  for await (const { name } of rig.backend.listMarkers!("")) await rig.backend.deleteMarker!(name);
  expect(await rebuiltRead(rig, "k")).toEqual(bytesOf(10, 1));
  for await (const { name } of rig.backend.listMarkers!("")) await rig.backend.deleteMarker!(name);
  await copyBlob(foreign.root, other.backend, rig.backend);
  expect((await failureOf(rebuiltRead(rig, "k"))).message).toContain("several stores");
});

test("a snapshot contradicts what was replaced before it", async () => {
  await using rig = await openRig();
  const { bucket, clock } = rig;
  const { root } = await put(rig, "k", bytesOf(10, 1));
  const kept = new Uint8Array(4096);
  const length = await rig.backend.get(root, kept);
  await rig.objects.deleteObjects(bucket, [{ key: keyOf("k") }]);
  clock.now += HOUR;
  await rig.objects.maintenance.collect();
  await rig.objects.maintenance.snapshot();
  clock.now += 2 * DAY;
  await rig.objects.maintenance.sweep();
  // The provider puts the deleted root back, when its tombstone is gone.
  await rig.backend.put(root, kept.slice(0, length));
  expect(await rebuiltRead(rig, "k")).toBeUndefined();
});

test.each([true, false])(
  "a rebuilt catalog sweeps what it passed over, with a snapshot: %p",
  async (useSnapshot) => {
    await using rig = await openRig();
    const { bucket, clock } = rig;
    await put(rig, "k", bytesOf(10, 1));
    await put(rig, "l", bytesOf(10, 1));
    await rig.objects.deleteObjects(bucket, [{ key: keyOf("k") }]);
    const crashing = await objectsOf(rig, { catalog: failing(rig, "commitPut") });
    await failureOf(put({ bucket, objects: crashing }, "z", bytesOf(10, 2)));
    clock.now += 2 * DAY;
    await rig.objects.maintenance.snapshot();
    const { report, ...rebuilt } = await rebuiltOf(rig, { useSnapshot });
    expect(report.isComplete).toBe(true);
    await rebuilt.objects.maintenance.snapshot();
    clock.now += 2 * DAY;
    const sweep = await rebuilt.objects.maintenance.sweep();
    expect(sweep.refused).toBeUndefined();
    expect(sweep.deleted).toBeGreaterThan(0);
    expect(await read({ ...rebuilt, bucket }, "k")).toBeUndefined();
    expect(await read({ ...rebuilt, bucket }, "l")).toEqual(bytesOf(10, 1));
    expect((await rebuilt.objects.maintenance.check({ deep: true })).faultCount).toBe(0);
    await rebuilt.catalog.close();
  },
);
