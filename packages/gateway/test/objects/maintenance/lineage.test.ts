import { expect, test } from "bun:test";
import { createStore, wrapBackend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { openCatalog } from "../../../src/catalog/open-catalog.ts";
import { inline, putOf } from "../../catalog/behaviour/fixture.ts";
import { LineageError } from "../../../src/objects/lineage/run.ts";
import {
  blobsOf,
  bytesOf,
  copyCatalog,
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

test("an old copy of a catalog writes, deletes and stores nothing", async () => {
  await using rig = await openRig();
  const { backend, clock } = rig;
  await put(rig, "k", bytesOf(3 * MIB, 1));
  await rig.objects.maintenance.snapshot();
  await using copy = await copyCatalog(rig).then(closing);
  clock.now += HOUR;
  await put(rig, "l", bytesOf(3 * MIB, 2));
  clock.now += 2 * DAY;

  const old = await objectsOf(rig, { catalog: copy });
  const before = await blobsOf(backend);
  expect((await old.maintenance.sweep()).refused).toContain("old copy");
  expect(await failureOf(old.maintenance.snapshot())).toBeInstanceOf(LineageError);
  const putting = put({ objects: old, bucket: rig.bucket }, "m", bytesOf(10, 3));
  expect(await failureOf(putting)).toMatchObject({ code: "ServiceUnavailable" });
  const deleting = old.deleteObjects(rig.bucket, [{ key: keyOf("k") }]);
  expect(await failureOf(deleting)).toMatchObject({ code: "ServiceUnavailable" });
  await copy.deleteObject(rig.bucket.id, keyOf("k"), { now: clock.now - DAY });
  expect(await failureOf(old.maintenance.collect())).toMatchObject({ code: "ServiceUnavailable" });
  expect(await failureOf(objectsOf(rig, { catalog: copy, background: true }))).toBeInstanceOf(
    LineageError,
  );
  expect(await blobsOf(backend)).toEqual(before);
  expect(await read(rig, "l")).toEqual(bytesOf(3 * MIB, 2));
});

test.each([false, true])(
  "a snapshot that fails deletes the content that it has stored, unless it is stopped: %p",
  async (isStopped) => {
    const stopped = new AbortController();
    let left = Infinity;
    const backend = wrapBackend(memory(), {
      put:
        (inner) =>
        async (...given) => {
          left -= 1;
          if (left >= 0) return inner(...given);
          if (isStopped) stopped.abort(new Error("stopped"));
          throw new Error("full");
        },
    });
    await using rig = await openRig({ backend });
    await addRows(rig);
    const before = await blobsOf(backend);
    left = 2;
    const failure = await failureOf(rig.objects.maintenance.snapshot(stopped.signal));
    expect(failure.message).toContain("full");
    expect(await blobsOf(backend)).toHaveLength(before.length + (isStopped ? 2 : 0));
  },
);

test("a snapshot that deletes what it has stored holds no memory, and ends once it is stopped", async () => {
  const stopped = new AbortController();
  const { promise: isDeleting, resolve: reach } = Promise.withResolvers<void>();
  let left = Infinity;
  const backend = wrapBackend(memory(), {
    put:
      (inner) =>
      async (...given) => {
        left -= 1;
        if (left < 0) throw new Error("down");
        await inner(...given);
      },
    // As one that is retried for long.
    delete: () => (_, given) =>
      new Promise((_, reject) => {
        given?.signal?.addEventListener("abort", () => reject(new Error("aborted")));
        reach();
      }),
  });
  await using rig = await openRig({ backend });
  await addRows(rig);
  left = 2;
  const failing = failureOf(rig.objects.maintenance.snapshot(stopped.signal));
  await isDeleting;
  expect(rig.objects.metrics().budgetUsed).toBe(0);
  stopped.abort();
  expect((await failing).message).toContain("down");
});

test("an old copy that is not recognised sweeps no object that it does not know", async () => {
  await using rig = await openRig();
  await put(rig, "k", bytesOf(3 * MIB, 1));
  await rig.objects.maintenance.snapshot();
  // Within the time of one mark.
  await using copy = await copyCatalog(rig).then(closing);
  const lost = await put(rig, "l", bytesOf(3 * MIB, 2));
  rig.clock.now += 2 * DAY;
  const warnings: string[] = [];
  const old = await objectsOf(rig, { catalog: copy, warn: (message) => warnings.push(message) });
  await old.maintenance.snapshot();
  const before = await blobsOf(rig.backend);
  const report = await old.maintenance.sweep();
  expect([report.refused, report.deleted]).toEqual([undefined, 0]);
  expect(warnings.join()).toContain(lost.root);
  expect(await blobsOf(rig.backend)).toEqual(before);
  // What it writes is newer than what it does not know.
  const next = await put({ objects: old, bucket: rig.bucket }, "l", bytesOf(10, 3));
  expect(next.seq).toBeGreaterThan(lost.seq);
});

test("after a power failure, a sweep keeps the roots that it does not know, and goes on", async () => {
  await using rig = await openRig();
  const { backend, catalog, clock, objects } = rig;
  const deleted = await put(rig, "deleted", bytesOf(10, 1));
  const commits: number[] = [];
  const failing = await objectsOf(rig, {
    catalog: {
      ...catalog,
      commitPut: ({ object }) => {
        commits.push(object.seq);
        return Promise.reject(new Error("power"));
      },
    },
  });
  const crash = async (key: string): Promise<string[]> => {
    const before = await blobsOf(backend);
    await failureOf(put({ ...rig, objects: failing }, key, bytesOf(3 * MIB, 2)));
    return (await blobsOf(backend)).filter((name) => !before.includes(name));
  };
  const kept = [...(await crash("lost")), ...(await crash("failed"))];
  // As if its registration had not reached the disk.
  await catalog.endWrites([commits[0]!]);
  await objects.deleteObjects(rig.bucket, [{ key: keyOf("deleted") }]);
  const others = createStore({ backend, recipients: [rig.identity.recipient] });
  const orphan = await others.put("content of a write that crashed");
  await objects.maintenance.snapshot();
  clock.now += 2 * DAY;
  await objects.maintenance.collect();
  const before = await blobsOf(backend);
  expect(before).not.toContain(deleted.root);

  // Its tombstone stays, because nobody knows what it buries.
  const report = await objects.maintenance.sweep();
  expect([report.refused, report.deleted]).toEqual([undefined, 1]);
  const after = await blobsOf(backend);
  expect(before.filter((name) => !after.includes(name))).toEqual([orphan]);
  for (const name of kept) expect(after).toContain(name);
  expect(rig.warnings.join()).toContain("the machine stopped");
  expect(commits).toHaveLength(2);
});

test("a sweep refuses if it does not know many objects of the store", async () => {
  await using rig = await openRig();
  await rig.objects.maintenance.snapshot();
  await using copy = await copyCatalog(rig).then(closing);
  for (let i = 0; i < 101; i++) await put(rig, `k${i}`, bytesOf(10, i));
  rig.clock.now += 2 * DAY;
  const old = await objectsOf(rig, { catalog: copy });
  await old.maintenance.snapshot();
  const before = await blobsOf(rig.backend);
  expect((await old.maintenance.sweep()).refused).toContain("should know of");
  expect(await blobsOf(rig.backend)).toEqual(before);
});

test("a catalog is refused once another one has taken over", async () => {
  await using rig = await openRig();
  await put(rig, "k", bytesOf(10, 1));
  const { objects, catalog } = await rebuiltOf(rig);
  await using _ = closing(catalog);
  // A rebuild alone, such as a drill, changes nothing.
  rig.clock.now += HOUR;
  await put(rig, "k", bytesOf(10, 2));
  const fresh = await rebuiltOf(rig);
  await put({ objects: fresh.objects, bucket: rig.bucket }, "k", bytesOf(10, 3));
  rig.clock.now += HOUR;
  expect(await failureOf(put(rig, "k", bytesOf(10, 4)))).toMatchObject({
    code: "ServiceUnavailable",
  });
  // And the first rebuild lacks what came after it.
  expect((await objects.maintenance.sweep()).refused).toContain("old copy");
  await fresh.catalog.close();
});

test("the catalog of another store does nothing in this one", async () => {
  await using other = await openRig();
  for (let i = 0; i < 30; i++) await put(other, `a${i}`, bytesOf(10, i));
  await other.objects.maintenance.snapshot();
  await using rig = await openRig({ identities: [other.identity] });
  await put(rig, "k", bytesOf(10, 1));
  await rig.objects.maintenance.snapshot();
  const before = await blobsOf(rig.backend);
  const wrong = await objectsOf(rig, { catalog: other.catalog });
  for (const doing of [
    () => wrong.maintenance.snapshot(),
    () => objectsOf(rig, { catalog: other.catalog, background: true }),
  ]) {
    const failure = await failureOf(doing());
    expect(failure).toBeInstanceOf(LineageError);
    expect(failure.message).toContain("another store");
  }
  expect(await failureOf(put({ ...rig, objects: wrong }, "x", bytesOf(10, 1)))).toMatchObject({
    code: "ServiceUnavailable",
  });
  expect((await wrong.maintenance.sweep()).refused).toContain("another store");
  expect(await blobsOf(rig.backend)).toEqual(before);
});

test("a store that was emptied, or has lost its markers, is not taken for the catalog's", async () => {
  await using rig = await openRig();
  await put(rig, "k", bytesOf(10, 1));
  const empty = await objectsOf(rig, { backend: memory() });
  expect(await failureOf(empty.maintenance.snapshot())).toBeInstanceOf(LineageError);
});

test("marks of others, or planted ones, count for nothing", async () => {
  await using rig = await openRig();
  const { backend, clock } = rig;
  const names: string[] = [];
  for await (const { name } of backend.listMarkers!("")) names.push(name);
  expect(names.length).toBeGreaterThan(1);
  for (const name of names) {
    const planted = `${name.slice(0, 33)}${"0".repeat(14)}ff-${name.slice(50)}`;
    await backend.putMarker!(planted);
  }
  clock.now += HOUR;
  await put(rig, "k", bytesOf(10, 1));
  const fresh = await objectsOf(rig);
  await put({ ...rig, objects: fresh }, "k", bytesOf(10, 2));
  expect(rig.warnings).toEqual([]);
});

test("marks do not pile up in the store", async () => {
  await using rig = await openRig();
  for (let i = 0; i < 40; i++) {
    rig.clock.now += HOUR;
    await put(rig, "k", bytesOf(10, i));
  }
  let count = 0;
  for await (const _ of rig.backend.listMarkers!("")) count += 1;
  expect(count).toBeLessThan(15);
});

test("an incomplete catalog collects and writes nothing", async () => {
  await using rig = await openRig();
  const { objects, bucket, catalog, clock } = rig;
  await put(rig, "k", bytesOf(3 * MIB, 1));
  const source = (await catalog.openObject(bucket.id, keyOf("k")))!;
  const { root } = await objects.copyObject({ bucket, key: keyOf("c"), headers: {}, source });
  const backend = wrapBackend(rig.backend, {
    get:
      (get) =>
      async (name, ...given) => {
        if (name === root) throw new Error("503");
        return get(name, ...given);
      },
  });
  const incomplete = await rebuiltOf(rig, { backend });
  await using _ = closing(incomplete.catalog);
  expect(incomplete.report.isComplete).toBe(false);
  await incomplete.catalog.deleteObject(bucket.id, keyOf("k"), { now: clock.now });
  clock.now += 2 * HOUR;
  const refused = { code: "ServiceUnavailable" };
  expect(await failureOf(incomplete.objects.maintenance.collect())).toMatchObject(refused);
  expect(await failureOf(incomplete.objects.maintenance.snapshot())).toBeInstanceOf(LineageError);
  const putting = put({ ...rig, objects: incomplete.objects }, "x", bytesOf(10, 1));
  expect(await failureOf(putting)).toMatchObject(refused);
  const { report, catalog: whole, objects: reader } = await rebuiltOf(rig);
  expect(report.isComplete).toBe(true);
  expect(await read({ objects: reader, catalog: whole, bucket }, "c")).toEqual(bytesOf(3 * MIB, 1));
  await whole.close();
});

test("a new catalog is not taken for that of a store without markers", async () => {
  await using rig = await openRig();
  const backend = memory();
  await backend.put("0".repeat(64), new Uint8Array(1));
  await using catalog = await openCatalog(await rig.newPlace()).then(closing);
  const objects = await objectsOf(rig, { backend, catalog });
  expect(await failureOf(objects.maintenance.snapshot())).toBeInstanceOf(LineageError);
});

/** Adds rows of several chunks to a catalog. */
async function addRows({ catalog, bucket }: Rig): Promise<void> {
  for (let i = 0; i < 12; i++) {
    const headers = { "x-amz-meta-long": Buffer.from(bytesOf(100_000, i)).toString("hex") };
    const object = inline(await catalog.nextSeq(), { headers });
    await catalog.commitPut(putOf(bucket, `${i}`, object));
  }
}

function closing<T extends { close(): Promise<void> }>(catalog: T): T & AsyncDisposable {
  return { ...catalog, [Symbol.asyncDispose]: () => catalog.close() };
}
