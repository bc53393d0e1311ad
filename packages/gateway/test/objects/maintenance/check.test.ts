import { expect, test } from "bun:test";
import { exportLines } from "../../../src/objects/maintenance/export.ts";
import type { PlacedRoot } from "../../../src/catalog/records.ts";
import { bodyOf, bytesOf, keyOf, objectsOf, openRig, put } from "../support.ts";

const MIB = 2 ** 20;

test("a check names objects whose roots are missing, and a deep one those that are damaged", async () => {
  await using rig = await openRig();
  const { objects, backend, catalog, bucket } = rig;
  await put(rig, "good", bytesOf(3 * MIB, 1));
  const { root } = await put(rig, "lost", bytesOf(10, 2));
  await put(rig, "cut", bytesOf(3 * MIB, 3));
  await put(rig, "rotten", bytesOf(10, 4));
  await backend.delete(root);
  const { contents } = (await catalog.openObject(bucket.id, keyOf("cut")))!;
  await backend.delete(contents[0]!.address);
  const rotten = (await catalog.findObject(bucket.id, keyOf("rotten")))!;
  await backend.put(rotten.root, new Uint8Array(300));

  const namesOf = async (deep: boolean): Promise<string[]> => {
    const { faults, objects: count } = await objects.maintenance.check({ deep });
    expect(count).toBe(4);
    return faults.map(({ key }) => new TextDecoder().decode(key));
  };
  expect(await namesOf(false)).toEqual(["cut", "lost"]);
  expect(await namesOf(true)).toEqual(["cut", "lost", "rotten"]);
});

test("a deep check compares the content of the catalog with what was sealed", async () => {
  await using rig = await openRig();
  const { objects, catalog, bucket, clock } = rig;
  for (const [name, seed] of [
    ["a", 1],
    ["b", 2],
  ] as const) {
    const target = { bucket: bucket.id, key: keyOf(name), owner: "", time: clock.now };
    const upload = (await catalog.createUpload({ ...target, headers: {}, tags: [], options: {} }))!;
    const body = bodyOf(bytesOf(5000, seed));
    const part = await objects.putPart({ upload, number: 3, body });
    // Its ETag is no MD5 of its content, which could tell.
    const etag = `${"0".repeat(32)}-1`;
    await objects.completeUpload({ bucket, upload, parts: [part], etag, checksums: {} });
  }
  const damaged = (damage: Partial<PlacedRoot>) =>
    objectsOf(rig, {
      catalog: {
        ...catalog,
        async *exportRows() {
          for await (const row of catalog.exportRows()) {
            if (row.type !== "object") yield row;
            else yield { ...row, contents: [{ ...row.contents[0]!, ...damage }] };
          }
        },
      },
    });
  const other = (await catalog.openObject(bucket.id, keyOf("b")))!.contents[0]!;
  const faults = async (damage: Partial<PlacedRoot>) =>
    (await (await damaged(damage)).maintenance.check({ deep: true })).faults.map(
      ({ key, message }) => `${new TextDecoder().decode(key)}: ${message}`,
    );
  const wrong = "its content is not what its identity root lists";
  expect(await faults({})).toEqual([]);
  // With the MD5, too, as if it were wholly the other one's.
  expect(await faults(other)).toEqual([`a: ${wrong}`]);
  for (const damage of [{ part: 4 }, { md5: "0".repeat(32) }, { size: 4999 }]) {
    expect(await faults(damage)).toEqual([`a: ${wrong}`, `b: ${wrong}`]);
  }
});

test("an export has a line of JSON for each object", async () => {
  await using rig = await openRig();
  const long = await put(rig, "a\n", bytesOf(2 * MIB, 1));
  const short = await put(rig, "ä", bytesOf(10, 2));
  const lines: unknown[] = [];
  for await (const line of exportLines(rig.catalog)) lines.push(JSON.parse(line));
  expect(lines).toMatchObject([
    { bucket: "b", key: "a\n", size: 2 * MIB, etag: long.etag, identity: long.root },
    { bucket: "b", key: "ä", size: 10, etag: short.etag, roots: [short.root] },
  ]);
  expect(lines[0]).not.toMatchObject({ roots: [long.root] });
});

test("what is stored while a check runs is not missing", async () => {
  await using rig = await openRig();
  const backend = {
    ...rig.backend,
    async *list(...given: Parameters<typeof rig.backend.list>) {
      yield* rig.backend.list(...given);
      await put(rig, "late", bytesOf(3 * MIB, 1));
    },
  };
  const objects = await objectsOf(rig, { backend });
  expect(await objects.maintenance.check()).toMatchObject({ objects: 1, faultCount: 0 });
});
