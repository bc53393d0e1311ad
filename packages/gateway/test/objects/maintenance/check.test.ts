import { expect, test } from "bun:test";
import { exportLines } from "../../../src/objects/maintenance/export.ts";
import { bytesOf, keyOf, objectsOf, openRig, put } from "../support.ts";

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
