import { expect, test } from "bun:test";
import { type Backend, wrapBackend } from "@idk/storage";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import { failureOf, objectsOf, openRig, rebuiltOf, type Rig } from "../support.ts";

/** A store that takes nothing until it is repaired. */
function breakable({ backend }: Rig): { backend: Backend; repair(): void } {
  let isBroken = true;
  return {
    backend: wrapBackend(backend, {
      put:
        (put) =>
        async (...given) => {
          if (isBroken) throw new Error("full");
          await put(...given);
        },
    }),
    repair() {
      isBroken = false;
    },
  };
}

async function rebuiltNames(rig: Rig): Promise<string[]> {
  const { catalog } = await rebuiltOf(rig);
  const buckets = await catalog.listBuckets();
  await catalog.close();
  return buckets.map(({ name }) => name);
}

async function emptied(pending: () => ReturnType<Catalog["pendingBuckets" | "pendingTombstones"]>) {
  for (let tries = 0; (await pending()).length > 0; tries++) {
    expect(tries).toBeLessThan(1000);
    await Bun.sleep(5);
  }
}

const about = { name: "new", owner: "me", region: "r", time: 0 };

test("a bucket that could not be sealed is sealed when it is made again", async () => {
  await using rig = await openRig();
  const { backend, repair } = breakable(rig);
  const objects = await objectsOf(rig, { backend });
  expect((await failureOf(objects.createBucket(about))).message).toContain("full");
  expect(await rebuiltNames(rig)).toEqual(["b"]);
  repair();
  expect(await objects.createBucket(about)).toMatchObject({ outcome: "exists" });
  expect(await rebuiltNames(rig)).toEqual(["b", "new"]);
});

test("what could not be sealed of a bucket that was made or deleted is sealed in the background", async () => {
  await using rig = await openRig();
  const { catalog, bucket } = rig;
  const broken = await objectsOf(rig, { backend: breakable(rig).backend });
  await failureOf(broken.createBucket(about));
  expect((await failureOf(broken.deleteBucket(bucket))).message).toContain("full");
  expect(await rebuiltNames(rig)).toEqual(["b"]);
  const objects = await objectsOf(rig, { background: true });
  await emptied(() => catalog.pendingBuckets());
  await emptied(() => catalog.pendingTombstones(0, 10));
  await objects.close();
  expect(await rebuiltNames(rig)).toEqual(["new"]);
});
