import { expect, test } from "bun:test";
import { wrapBackend } from "@idk/storage";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import { openCatalog } from "../../../src/catalog/open-catalog.ts";
import type { OpenedObject } from "../../../src/catalog/records.ts";
import type { Objects } from "../../../src/objects/objects.ts";
import {
  blobsOf,
  bodyOf,
  bytesOf,
  collect,
  failureOf,
  keyOf,
  MIB,
  objectsOf,
  openRig,
  put,
  read,
  rebuiltOf,
  type Rig,
} from "../support.ts";

/*
 * Writes that are made of the version of their key which they replace: copies of an object onto itself, and
 * tags.
 */

const KEY = keyOf("k");
const TARGET = { key: KEY, headers: { x: "copied" } } as const;

type Change = (objects: Objects, bucket: Rig["bucket"], source: OpenedObject) => Promise<unknown>;

const CHANGES: Readonly<Record<string, Change>> = {
  "a copy": (objects, bucket, source) => objects.copyObject({ ...TARGET, bucket, source }),
  "a copy with a condition": (objects, bucket, source) =>
    objects.copyObject({ ...TARGET, bucket, source, condition: { ifMatch: ["*"] } }),
  "a copy with another checksum": async (objects, bucket, source) => {
    const body = bodyOf(await collect(objects.readObject(source)));
    return objects.putObject({ ...TARGET, bucket, body, changes: source.object });
  },
  "a change of tags": async (objects, bucket, source) => {
    if (await objects.setTags({ bucket, source, tags: [["a", "b"]] })) return;
    throw new Error("OperationAborted");
  },
};
const CASES = Object.keys(CHANGES).flatMap((name) =>
  [10, 3 * MIB].map((length) => [name, length] as const),
);

/** A gateway that dies once the root is in the store, and before it is committed. */
async function dyingOf(rig: Rig): Promise<Objects> {
  let isDead = false;
  const die = async (): Promise<never> => {
    isDead = true;
    throw new Error("dead");
  };
  const through =
    <Given extends unknown[], T>(call: (...given: Given) => Promise<T>) =>
    async (...given: Given): Promise<T> =>
      isDead ? die() : call(...given);
  const catalog: Record<string, unknown> = { ...rig.catalog, commitPut: die };
  for (const name of ["claim", "beginWrite", "endWrites", "releaseClaim", "addGarbage"] as const) {
    catalog[name] = through<unknown[], unknown>(rig.catalog[name] as never);
  }
  const backend = wrapBackend(rig.backend, { put: through, delete: through });
  return objectsOf(rig, { backend, catalog: catalog as unknown as Catalog });
}

/** The body of an upload that has begun, and sends nothing until it is told to go on. */
function pausingBody() {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: pause, resolve: goOn } = Promise.withResolvers<void>();
  async function* pausing(): AsyncGenerator<Uint8Array> {
    begin();
    await pause;
    yield bytesOf(50, 2);
  }
  return { body: { ...bodyOf(bytesOf(50, 2)), bytes: pausing() }, begun, goOn };
}

async function openedOf({ catalog, bucket }: Rig): Promise<OpenedObject> {
  return (await catalog.openObject(bucket.id, KEY))!;
}

test.each(CASES)(
  "%s of %i bytes that was never committed undoes no older write that was acknowledged",
  async (name, length) => {
    await using rig = await openRig();
    const { bucket } = rig;
    await put(rig, "k", bytesOf(length, 1));
    const { body, begun, goOn } = pausingBody();
    const putting = rig.objects.putObject({ bucket, key: KEY, headers: {}, body });
    await begun;
    const before = await blobsOf(rig.backend);
    const changing = CHANGES[name]!(await dyingOf(rig), bucket, await openedOf(rig));
    expect((await failureOf(changing)).message).toBe("dead");
    // Its root is in the store.
    expect((await blobsOf(rig.backend)).length).toBeGreaterThan(before.length);
    goOn();
    await putting;
    expect(await read(rig, "k")).toEqual(bytesOf(50, 2));
    const rebuilt = await rebuiltOf(rig);
    expect(await read({ ...rebuilt, bucket }, "k")).toEqual(bytesOf(50, 2));
    await rebuilt.catalog.close();
  },
);

test.each(CASES)(
  "%s of %i bytes stores nothing if the version was replaced by one with the same ETag",
  async (name, length) => {
    await using rig = await openRig();
    const { bucket, objects } = rig;
    const bytes = bytesOf(length, 1);
    await put(rig, "k", bytes);
    const source = await openedOf(rig);
    const headers = { x: "replaced" };
    await objects.putObject({ bucket, key: KEY, headers, body: bodyOf(bytes) });
    const before = await blobsOf(rig.backend);
    const changing = CHANGES[name]!(await dyingOf(rig), bucket, source);
    expect(await failureOf(changing)).not.toMatchObject({ message: "dead" });
    expect(await blobsOf(rig.backend)).toEqual(before);
    expect((await openedOf(rig)).object.headers).toEqual(headers);
    // It left no reservation.
    await CHANGES[name]!(objects, bucket, await openedOf(rig));
  },
);

test("what a process that died has reserved is free after seconds", async () => {
  await using rig = await openRig();
  const { bucket, objects } = rig;
  await put(rig, "k", bytesOf(10, 1));
  const tagging = CHANGES["a change of tags"]!;
  await failureOf(tagging(await dyingOf(rig), bucket, await openedOf(rig)));
  await tagging(objects, bucket, await openedOf(rig));
  expect((await openedOf(rig)).object.tags).toEqual([["a", "b"]]);
});

test("a change of tags beside a conditional upload: neither waits, and both are done", async () => {
  await using rig = await openRig();
  const { bucket, objects } = rig;
  await put(rig, "k", bytesOf(10, 1));
  const { body, begun, goOn } = pausingBody();
  const condition = { ifMatch: ["*"] };
  const putting = objects.putObject({ bucket, key: KEY, headers: {}, body, condition });
  await begun;
  await CHANGES["a change of tags"]!(objects, bucket, await openedOf(rig));
  expect((await openedOf(rig)).object.tags).toEqual([["a", "b"]]);
  goOn();
  await putting;
  expect(await read(rig, "k")).toEqual(bytesOf(50, 2));
  const rebuilt = await rebuiltOf(rig);
  expect(await read({ ...rebuilt, bucket }, "k")).toEqual(bytesOf(50, 2));
  await rebuilt.catalog.close();
});

test("changes of one key by two gateways in a loop all take effect", async () => {
  await using rig = await openRig();
  const { bucket } = rig;
  await put(rig, "k", bytesOf(10, 1));
  const backend = wrapBackend(rig.backend, {
    put:
      (inner) =>
      async (...given) => {
        await Bun.sleep(20);
        await inner(...given);
      },
  });
  await using stack = new AsyncDisposableStack();
  const changeAll = async (own: string): Promise<void> => {
    const catalog = await openCatalog(rig.place);
    stack.defer(() => catalog.close());
    const objects = await objectsOf(rig, { backend, catalog });
    for (let i = 0; i < 10; i++) {
      const addTag = async (): Promise<boolean> =>
        objects.changeObject({ bucket, key: KEY }, async (change) => {
          const source = change.source!;
          const tags = [...source.object.tags, [`${own}${i}`, ""] as const];
          return objects.setTags({ bucket, source, tags, change });
        });
      // While a commit takes long, the other gateway may change the key; requests try again, too.
      for (let tries = 1; !(await addTag()); tries++) expect(tries).toBeLessThan(5);
    }
  };
  await Promise.all([changeAll("a"), changeAll("b")]);
  // Of none of them was the effect lost.
  expect((await openedOf(rig)).object.tags).toHaveLength(20);
  expect(await rig.catalog.counts()).toMatchObject({ writes: 0 });
});
