import { expect, test } from "bun:test";
import { createStore, generateIdentity, loadNaCl, StorageError, wrapBackend } from "@idk/storage";
import { sealRoot } from "@idk/storage/blobs";
import { openCatalog } from "../../../src/catalog/open-catalog.ts";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import { authenticate } from "../../../src/objects/identity/mac.ts";
import { decodeManifest } from "../../../src/objects/identity/manifest.ts";
import { encodeRecord } from "../../../src/objects/identity/records.ts";
import {
  rebuildCatalog,
  type RebuildOptions,
  type RebuildReport,
} from "../../../src/objects/rebuild/rebuild.ts";
import {
  bytesOf,
  failureOf,
  HOUR,
  keyOf,
  objectsOf,
  openRig,
  put,
  read,
  type Rig,
  rowsOf,
} from "../support.ts";

const MIB = 2 ** 20;

async function rebuild(
  { backend, identity, newPlace }: Rig,
  options: Partial<RebuildOptions> = {},
): Promise<{ report: RebuildReport; catalog: Catalog }> {
  const catalog = await openCatalog(await newPlace());
  const report = await rebuildCatalog({ backend, catalog, identities: [identity], ...options });
  return { report, catalog };
}

/** Objects of all kinds, some overwritten, copied or deleted. */
async function fill(rig: Rig): Promise<void> {
  const { objects, bucket, catalog, clock } = rig;
  for (const name of ["c", "d"]) {
    await objects.createBucket({ name, owner: "o", region: "x", time: clock.now });
  }
  for (let i = 0; i < 8; i++) await put(rig, `short-${i % 5}`, bytesOf(10 * i, i));
  await put(rig, "long/\u{1F600}", bytesOf(2 * MIB + 3, 1));
  const source = (await catalog.openObject(bucket.id, keyOf("long/\u{1F600}")))!;
  await objects.copyObject({
    bucket,
    key: keyOf("copy"),
    headers: { a: "b" },
    tags: [["t", "v"]],
    source,
  });
  const upload = (await catalog.createUpload({
    bucket: bucket.id,
    key: keyOf("parts"),
    owner: "me",
    time: clock.now,
    headers: {},
    tags: [],
    options: {},
  }))!;
  const part = await objects.copyPart({ upload, number: 3, source });
  const parts = [await objects.copyPart({ upload, number: 1, source }), part];
  const checksums = { crc32: "AAAAAA==-2" };
  await objects.completeUpload({ bucket, upload, parts, etag: `${"0".repeat(32)}-2`, checksums });
  await objects.deleteObjects(bucket, [
    { key: keyOf("short-0") },
    { key: keyOf("long/\u{1F600}") },
  ]);
  await objects.deleteBucket((await catalog.findBucket("d"))!);
}

test("a catalog is rebuilt from the store alone", async () => {
  await using rig = await openRig();
  await fill(rig);
  const rows = await rowsOf(rig.catalog);
  const { report, catalog } = await rebuild(rig);
  expect(report).toMatchObject({ buckets: 2, objects: 6, faultCount: 0, isComplete: true });
  expect(await rowsOf(catalog)).toEqual(rows);
  await catalog.close();
});

test.each([true, false])(
  "with a snapshot and later changes, and using it: %p",
  async (useSnapshot) => {
    await using rig = await openRig();
    await fill(rig);
    await rig.objects.maintenance.snapshot();
    rig.clock.now += 3 * 60 * 60_000;
    await put(rig, "short-1", bytesOf(77, 77));
    await put(rig, "new", bytesOf(3 * MIB, 78));
    await rig.objects.deleteObjects(rig.bucket, [{ key: keyOf("short-2") }]);
    await rig.objects.maintenance.collect();
    await rig.objects.createBucket({ name: "d", owner: "later", region: "x", time: 5 });
    const rows = await rowsOf(rig.catalog);
    const { report, catalog } = await rebuild(rig, { useSnapshot });
    expect(report.snapshot === undefined).toBe(!useSnapshot);
    expect(report).toMatchObject({ faultCount: 0, isComplete: true });
    expect(await rowsOf(catalog)).toEqual(rows);
    await catalog.close();
  },
);

test("a snapshot spares opening what was stored long before it", async () => {
  await using rig = await openRig();
  await fill(rig);
  await rig.objects.maintenance.collect();
  rig.clock.now += 3 * 60 * 60_000;
  await rig.objects.maintenance.snapshot();
  const read: string[] = [];
  const backend = {
    ...rig.backend,
    get: async (name: string, buffer: Uint8Array) => {
      read.push(name);
      return rig.backend.get(name, buffer);
    },
  };
  const rows = await rowsOf(rig.catalog);
  const { report, catalog } = await rebuild(rig, { backend });
  expect(await rowsOf(catalog)).toEqual(rows);
  expect(report.objects).toBe(6);
  expect(read).toContain(report.snapshot!);
  // The snapshot's root and its content, which is inline.
  expect(new Set(read).size).toBe(2);
  await catalog.close();
});

test("a root that was stored hours before a snapshot, and committed after it, is found", async () => {
  await using rig = await openRig();
  const { catalog, clock, objects, bucket } = rig;
  await put(rig, "k", bytesOf(10, 1));
  // The timers of this process do not run for hours in an instant.
  const own = clock.now;
  const slow = await objectsOf(rig, {
    now: () => own,
    catalog: {
      ...catalog,
      commitPut: async (given) => {
        clock.now += 3 * HOUR;
        await catalog.beat([given.object.seq], clock.now);
        await objects.maintenance.snapshot();
        return catalog.commitPut(given);
      },
    },
  });
  await put({ objects: slow, bucket }, "k", bytesOf(20, 2));
  const rows = await rowsOf(catalog);
  const { report, catalog: rebuilt } = await rebuild(rig);
  expect(report).toMatchObject({ objects: 1, isComplete: true });
  expect(report.snapshot).toBeDefined();
  expect(await rowsOf(rebuilt)).toEqual(rows);
  await rebuilt.close();
});

test("objects of somebody with the public key alone are refused and reported", async () => {
  await using rig = await openRig();
  await put(rig, "k", bytesOf(10, 1));
  const naCl = await loadNaCl();
  const { backend, identity, bucket, catalog } = rig;
  const content = bytesOf(10, 2);
  const object = (await catalog.findObject(bucket.id, keyOf("k")))!;
  const record = encodeRecord({
    type: "object",
    ...object,
    seq: 1_000_000,
    bucketName: "b",
    catalog: "x",
    store: "0".repeat(32),
  });
  const forgeries: string[] = [];
  const noKeys = [new Uint8Array(32)] as const;
  for (const metadata of [
    { s3: record, mac: authenticate(noKeys, record, content) },
    { s3: record, mac: new Uint8Array(0) },
    { s3: record },
    { mac: new Uint8Array(32) },
  ]) {
    const { address, blob } = sealRoot(naCl, {
      content,
      metadata,
      recipients: [identity.recipient],
    });
    await backend.put(address, blob);
    forgeries.push(address);
  }
  const rows = await rowsOf(catalog);
  const { report, catalog: rebuilt } = await rebuild(rig);
  expect(report.forged.map(String).toSorted()).toEqual(forgeries.toSorted());
  expect(report).toMatchObject({ forgedCount: 4, isComplete: true });
  expect(await rowsOf(rebuilt)).toEqual(rows);
  await rebuilt.close();
});

test("a MAC holds for its own record and content alone", async () => {
  await using rig = await openRig();
  await put(rig, "k", bytesOf(10, 1));
  const { backend, identity, bucket, catalog } = rig;
  // A reader, who can open roots, seals another content under an identity that is authentic.
  const reader = createStore({ backend, identities: [identity], recipients: [identity.recipient] });
  const { root } = (await catalog.findObject(bucket.id, keyOf("k")))!;
  const { metadata } = await reader.get(root);
  const address = await reader.put(bytesOf(10, 2), { metadata });
  const { report, catalog: rebuilt } = await rebuild(rig);
  expect(report.forged).toEqual([address]);
  expect(await read({ ...rig, catalog: rebuilt }, "k")).toEqual(bytesOf(10, 1));
  await rebuilt.close();
});

test("a root that cannot be opened makes the catalog incomplete, and nothing is swept", async () => {
  await using rig = await openRig();
  await put(rig, "k", bytesOf(10, 1));
  const { root } = await put(rig, "l", bytesOf(10, 2));
  const blob = new Uint8Array(4096);
  const length = await rig.backend.get(root, blob);
  blob[length - 1]! ^= 1;
  await rig.backend.put(root, blob.subarray(0, length));
  const { report, catalog } = await rebuild(rig);
  expect(report).toMatchObject({ objects: 1, faultCount: 1, isComplete: false });
  expect(report.faults[0]!.address).toBe(root);
  expect((await catalog.lineage()).isComplete).toBe(false);
  await catalog.close();
});

test("another identity opens nothing, which does not pass for an empty store", async () => {
  await using rig = await openRig();
  await put(rig, "k", bytesOf(10, 1));
  const { report, catalog } = await rebuild(rig, { identities: [await generateIdentity()] });
  expect(report).toMatchObject({ objects: 0, faultCount: 2, isComplete: false });
  await catalog.close();
});

test("a deletion is not undone although the old roots are still there", async () => {
  await using rig = await openRig();
  await put(rig, "k", bytesOf(10, 1));
  await put(rig, "k", bytesOf(10, 2));
  await put(rig, "l", bytesOf(10, 3));
  await rig.objects.deleteObjects(rig.bucket, [{ key: keyOf("k") }]);
  const { report, catalog } = await rebuild(rig);
  expect(report.objects).toBe(1);
  // What is stored next is not buried by the tombstone.
  expect(await catalog.nextSeq()).toBeGreaterThanOrEqual(await rig.catalog.nextSeq());
  await catalog.close();
});

test("a rebuild fails if the newest snapshot cannot be read now, and takes no older one", async () => {
  await using rig = await openRig();
  const { objects, catalog, backend, clock } = rig;
  await put(rig, "k", bytesOf(10, 1));
  await objects.maintenance.snapshot();
  clock.now += 60_000;
  await put(rig, "l", bytesOf(2 * MIB, 1));
  await objects.maintenance.snapshot();
  const { name } = (await catalog.lineage()).snapshot!;
  const snapshot = await createStore({ backend, identities: [rig.identity] }).get(name);
  const { contents } = decodeManifest(await snapshot.bytes());
  const faults = [
    new StorageError("unavailable", "503"),
    // What only the server says of its disks proves nothing.
    new StorageError("address", "unreadable", { transient: true }),
  ];
  const places = [name, contents[0]!.address];
  for (const [silent, fault] of places.flatMap((at) => faults.map((each) => [at, each] as const))) {
    const failing = wrapBackend(backend, {
      get:
        (get) =>
        async (address, ...given) => {
          if (address === silent) throw fault;
          return get(address, ...given);
        },
    });
    const rebuilding = rebuild({ ...rig, backend: failing });
    expect(await failureOf(rebuilding)).toBe(fault);
  }
});
