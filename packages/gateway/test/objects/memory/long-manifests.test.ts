import { expect, test } from "bun:test";
import { wrapBackend } from "@idk/storage";
import type { OpenedObject, Part, Upload } from "../../../src/catalog/records.ts";
import { inline, part, putOf, root } from "../../catalog/behaviour/fixture.ts";
import { failureOf, keyOf, MIB, objectsOf, openRig, type Rig } from "../support.ts";

/** Of an object that has as many content roots. */
const PARTS = 2047;
/** Bytes that it takes to copy it: almost 4 MiB. */
const NEED = 2 * PARTS * 1024;
/** For long content, of which the manifests are a part, this leaves room for four copies and little else. */
const MEMORY = 20 * MIB;

/** An object in parts that only the catalog knows: a copy does not read its content. */
async function addSource({ catalog, bucket }: Rig, key: string): Promise<OpenedObject> {
  const object = inline(await catalog.nextSeq(), {
    kind: "manifest",
    size: PARTS * 100,
    etag: "0".repeat(32),
    headers: {},
  });
  const numbers = Array.from({ length: PARTS }, (_, index) => index + 1);
  const put = putOf(bucket, key, object, {
    contents: numbers.map((number) => ({ ...root(`${number}`), part: number })),
    parts: numbers.map((number) => part(number, object.seq)),
  });
  await catalog.commitPut(put);
  return (await catalog.openObject(bucket.id, keyOf(key)))!;
}

async function begin({ catalog, bucket }: Rig, key: string): Promise<Upload> {
  const given = { owner: "", time: 0, headers: {}, tags: [], options: {} };
  return (await catalog.createUpload({ bucket: bucket.id, key: keyOf(key), ...given }))!;
}

/** An upload with parts of so many content roots each, as a request to complete it. */
async function uploaded(rig: Rig, key: string, count: number, roots = 1) {
  const { catalog, bucket } = rig;
  const upload = await begin(rig, key);
  const parts: Part[] = [];
  for (let number = 1; number <= count; number++) {
    const added = part(number, await catalog.beginWrite(0));
    const contents = Array.from({ length: roots }, (_, index) => root(`${key} ${number} ${index}`));
    parts.push(added);
    await catalog.putPart({ upload, part: added, contents, now: 0 });
  }
  return { bucket, upload, parts, etag: "", checksums: {} };
}

/** A gateway whose store answers no request until it is told to go on. */
async function pausing(rig: Rig, memoryBytes = MEMORY) {
  const { promise: pause, resolve: goOn } = Promise.withResolvers<void>();
  let stored = 0;
  const backend = wrapBackend(rig.backend, {
    put:
      (inner) =>
      async (...given) => {
        stored += 1;
        await pause;
        await inner(...given);
      },
  });
  const objects = await objectsOf(rig, { backend, memoryBytes });
  return {
    objects,
    goOn,
    /** Requests so far: at least so many, and what others come at once. */
    async stored(least: number) {
      while (stored < least) await Bun.sleep(5);
      await Bun.sleep(300);
      return stored;
    },
  };
}

test("copies of an object in many parts wait for memory, and one owner's leave half to others", async () => {
  await using rig = await openRig();
  const { bucket } = rig;
  const source = await addSource(rig, "source");
  const { objects, goOn, stored } = await pausing(rig);
  const copy = async (key: string, owner: string) =>
    objects.copyObject({ bucket, key: keyOf(key), headers: {}, source, owner });
  const copies = Array.from({ length: 12 }, (_, index) => copy(`a${index}`, "A"));
  expect(await stored(2)).toBe(2);
  copies.push(copy("b", "B"));
  expect(await stored(3)).toBe(3);
  expect(objects.metrics()).toMatchObject({ budgetUsed: 3 * NEED, budgetWaiting: 10 });
  goOn();
  for (const { parts } of await Promise.all(copies)) expect(parts).toBe(PARTS);
  expect(objects.metrics()).toMatchObject({ budgetUsed: 0, budgetWaiting: 0 });
});

test("a copy to a part, and a change of tags, wait for memory as well", async () => {
  await using rig = await openRig();
  const { bucket } = rig;
  const source = await addSource(rig, "source");
  const { objects, goOn, stored } = await pausing(rig);
  const held = Array.from({ length: 4 }, (_, index) =>
    objects.copyObject({ bucket, key: keyOf(`a${index}`), headers: {}, source }),
  );
  expect(await stored(4)).toBe(4);
  const [upload, tagged] = [await begin(rig, "u"), await addSource(rig, "tagged")];
  const waiting = [
    objects.copyPart({ upload, number: 1, source }),
    objects.setTags({ bucket, source: tagged, tags: [] }),
  ];
  await stored(4);
  expect(objects.metrics().budgetWaiting).toBe(2);
  goOn();
  await Promise.all([...held, ...waiting]);
  expect(objects.metrics()).toMatchObject({ budgetUsed: 0 });
});

test("a Complete of many parts waits for memory, and a short manifest takes none", async () => {
  await using rig = await openRig();
  const { bucket } = rig;
  const source = await addSource(rig, "source");
  const { objects, goOn, stored } = await pausing(rig);
  const [long, short] = [await uploaded(rig, "long", 40), await uploaded(rig, "short", 20)];
  const held = Array.from({ length: 4 }, (_, index) =>
    objects.copyObject({ bucket, key: keyOf(`a${index}`), headers: {}, source }),
  );
  expect(await stored(4)).toBe(4);
  const gone = new AbortController();
  const leaving = objects.completeUpload({ ...long, signal: gone.signal });
  const completing = objects.completeUpload(long);
  const shortly = objects.completeUpload(short);
  expect(await stored(5)).toBe(5);
  gone.abort(new Error("the client left"));
  expect((await failureOf(leaving)).message).toBe("the client left");
  goOn();
  await Promise.all([...held, completing, shortly]);
  expect(objects.metrics()).toMatchObject({ budgetUsed: 0, budgetWaiting: 0 });
});

test("a manifest that is longer than the memory takes half of it, and waits for no more", async () => {
  await using rig = await openRig();
  const { bucket } = rig;
  const source = await addSource(rig, "source");
  // For long content, this leaves half of what a copy of the source would take.
  const { objects, goOn, stored } = await pausing(rig, 2.5 * MIB);
  const copy = async (key: string, owner: string) =>
    objects.copyObject({ bucket, key: keyOf(key), headers: {}, source, owner });
  // It is known to be long only once it has its memory.
  const upload = await uploaded(rig, "u", 40, 50);
  const completing = objects.completeUpload({ ...upload, owner: "A" });
  expect(await stored(1)).toBe(1);
  expect(objects.metrics()).toMatchObject({ budgetUsed: MIB });
  const copies = [copy("b", "B"), copy("c", "C")];
  expect(await stored(2)).toBe(2);
  expect(objects.metrics()).toMatchObject({ budgetUsed: 2 * MIB, budgetWaiting: 1 });
  goOn();
  await Promise.all([completing, ...copies]);
  expect(objects.metrics()).toMatchObject({ budgetUsed: 0, budgetWaiting: 0 });
});
