import { expect, test } from "bun:test";
import { wrapBackend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { blobsOf, bytesOf, failureOf, keyOf, openRig, put } from "../support.ts";

test("a deletion is acknowledged only once its tombstone is stored", async () => {
  let refuses = false;
  const backend = wrapBackend(memory(), {
    put:
      (inner) =>
      async (...given) => {
        if (refuses) throw new Error("full");
        await inner(...given);
      },
  });
  await using rig = await openRig({ backend });
  await put(rig, "k", bytesOf(10, 1));
  refuses = true;
  const deleting = rig.objects.deleteObjects(rig.bucket, [{ key: keyOf("k") }]);
  expect((await failureOf(deleting)).message).toContain("full");
  expect(await rig.catalog.pendingTombstones(0, 10)).toHaveLength(1);
  refuses = false;
  await rig.objects.deleteObjects(rig.bucket, [{ key: keyOf("k") }]);
  expect(await rig.catalog.findObject(rig.bucket.id, keyOf("k"))).toBeUndefined();
});

test("deletions at the same time share tombstones", async () => {
  // While one is stored, others come.
  const backend = wrapBackend(memory(), {
    put:
      (inner) =>
      async (...given) => {
        await Bun.sleep(50);
        await inner(...given);
      },
  });
  await using rig = await openRig({ backend });
  const keys = Array.from({ length: 20 }, (_, index) => keyOf(String(index)));
  const before = (await blobsOf(rig.backend)).length;
  await Promise.all(keys.map((key) => rig.objects.deleteObjects(rig.bucket, [{ key }])));
  expect(await rig.catalog.pendingTombstones(0, 100)).toEqual([]);
  expect((await blobsOf(rig.backend)).length - before).toBeLessThan(keys.length);
});
