import { expect, test } from "bun:test";
import { type Backend, wrapBackend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { bytesOf, DAY, HOUR, keyOf, MIB, openRig, put, type Rig } from "../support.ts";

/** A round trip, in milliseconds. */
const AWAY = 30;
const OBJECTS = 120;

interface FarStore {
  readonly backend: Backend;
  /** The most requests in flight since this was asked last. */
  most(): number;
  /** Requests until now. */
  begun(): number;
}

/** A store that is far away once it has been filled. */
function farStore(state: { now: number; isFar: boolean }): FarStore {
  const count = { now: 0, most: 0, begun: 0 };
  const far =
    <Given extends unknown[], T>(inner: (...given: Given) => Promise<T>) =>
    async (...given: Given): Promise<T> => {
      if (!state.isFar) return inner(...given);
      count.begun += 1;
      count.now += 1;
      count.most = Math.max(count.most, count.now);
      await Bun.sleep(AWAY);
      count.now -= 1;
      return inner(...given);
    };
  const inner = memory({ now: () => state.now });
  const backend = wrapBackend(inner, { get: far, getRange: far, head: far, delete: far });
  const most = (): number => {
    const found = count.most;
    count.most = 0;
    return found;
  };
  return { backend, most, begun: () => count.begun };
}

async function filled(state: { now: number; isFar: boolean }): Promise<[Rig, FarStore]> {
  const store = farStore(state);
  const rig = await openRig({ backend: store.backend, now: () => state.now });
  for (let i = 0; i < OBJECTS; i++) await put(rig, `short ${i}`, bytesOf(10, i));
  return [rig, store];
}

test("garbage of a distant store is collected with more than eight requests in flight", async () => {
  const state = { now: Date.UTC(2026, 0, 1), isFar: false };
  const [rig, store] = await filled(state);
  await using _ = rig;
  const { objects, bucket, catalog } = rig;
  const targets = Array.from({ length: OBJECTS }, (_, i) => ({ key: keyOf(`short ${i}`) }));
  await objects.deleteObjects(bucket, targets);
  state.now += 2 * HOUR;
  state.isFar = true;
  expect(await objects.maintenance.collect()).toMatchObject({ failed: 0 });
  expect(store.most()).toBeGreaterThan(8);
  expect(await catalog.dueGarbage(Number.MAX_SAFE_INTEGER, 1)).toEqual([]);
});

test("a deep check reads four objects at once, and reports them in order", async () => {
  const state = { now: Date.UTC(2026, 0, 1), isFar: false };
  const store = farStore(state);
  await using rig = await openRig({ backend: store.backend, now: () => state.now });
  const { maintenance } = rig.objects;
  // Some take longer than those after them.
  for (let i = 0; i < 12; i++)
    await put(rig, `${i + 10}`, bytesOf(i > 0 && i < 5 ? 2 * MIB : 10, i));
  const other = farStore(state);
  await using short = await openRig({ backend: other.backend, now: () => state.now });
  for (let i = 0; i < 12; i++) await put(short, `${i}`, bytesOf(10, i));
  state.isFar = true;
  await short.objects.maintenance.check({ deep: true });
  expect(other.most()).toBe(4);
  const checked: string[] = [];
  const onChecked = async ({ key }: { key: Uint8Array }) => {
    checked.push(new TextDecoder().decode(key));
  };
  expect(await maintenance.check({ deep: true, onChecked })).toMatchObject({ objects: 12 });
  expect(checked).toEqual(Array.from({ length: 12 }, (_, i) => `${i + 10}`));

  const failure = new Error("the report cannot be written");
  const failing = maintenance.check({ deep: true, onChecked: () => Promise.reject(failure) });
  expect(await failing.catch((error: unknown) => error)).toBe(failure);
  // Nothing goes on behind it.
  const begun = store.begun();
  await Bun.sleep(5 * AWAY);
  expect(store.begun()).toBe(begun);
});

test("a sweep of a distant store opens and deletes more than eight orphans at once", async () => {
  const state = { now: Date.UTC(2026, 0, 1), isFar: false };
  const [rig, store] = await filled(state);
  await using _ = rig;
  const { objects, bucket } = rig;
  const { maintenance } = objects;
  const targets = Array.from({ length: OBJECTS }, (_, i) => ({ key: keyOf(`short ${i}`) }));
  // Their tombstones are roots that nothing names once the objects are gone.
  for (const target of targets) await objects.deleteObjects(bucket, [target]);
  state.now += 2 * HOUR;
  await maintenance.collect();
  await maintenance.snapshot();
  state.now += DAY + HOUR;
  state.isFar = true;
  // Nothing is deleted, and no content has a root of its own.
  const { orphans, refused } = await maintenance.sweep({ dryRun: true });
  expect([refused, orphans >= OBJECTS]).toEqual([undefined, true]);
  expect(store.most()).toBeGreaterThan(8);
  expect(await maintenance.sweep()).toMatchObject({ deleted: orphans });
  expect(store.most()).toBeGreaterThan(8);
});

test("a sweep finds the content of many objects with few requests in flight if memory is short", async () => {
  const state = { now: Date.UTC(2026, 0, 1), isFar: false };
  const store = farStore(state);
  // Memory for two chunks.
  const memoryBytes = 640 * 1024;
  await using rig = await openRig({ backend: store.backend, now: () => state.now, memoryBytes });
  for (let i = 0; i < 20; i++) await put(rig, `${i}`, bytesOf(MIB + 1, i));
  await rig.objects.maintenance.snapshot();
  state.isFar = true;
  expect(await rig.objects.maintenance.sweep()).toMatchObject({ orphans: 0 });
  expect(store.most()).toBeLessThanOrEqual(4);
});
