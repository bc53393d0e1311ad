import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { type Address, type Backend, StorageError, wrapBackend } from "@idk/storage";
import type {
  CheckCounts,
  CheckOptions,
  ObjectFault,
  ObjectPlace,
  StoreShard,
} from "../../../src/objects/objects.ts";
import {
  bodyOf,
  bytesOf,
  failureOf,
  keyOf,
  MIB,
  objectsOf,
  openRig,
  put,
  type Rig,
} from "../support.ts";

setDefaultTimeout(120_000);

const PARTS: readonly StoreShard[] = ["0123", "4567", "89ab", "cdef"].map((digits) => ({
  prefixes: digits.split(""),
  has: (address) => digits.includes(address[0]!),
}));

/** Stores an object of many content roots. */
async function putParts({ objects, catalog, bucket }: Rig, name: string, count: number) {
  const target = { bucket: bucket.id, key: keyOf(name), owner: "", time: 0 };
  const upload = (await catalog.createUpload({ ...target, headers: {}, tags: [], options: {} }))!;
  for (let number = 1; number <= count; number++) {
    await objects.putPart({ upload, number, body: bodyOf(bytesOf(1000, number + name.length)) });
  }
  const parts = await catalog.listParts(upload, 0, count);
  const etag = `${"0".repeat(32)}-${count}`;
  await objects.completeUpload({ bucket, upload, parts, etag, checksums: {} });
}

interface Requests {
  readonly listed: string[];
  readonly asked: string[];
  readonly read: string[];
}

/** Another gateway over the store, with what it asks of it. */
async function watched(rig: Rig, change: (backend: Backend) => Backend = (backend) => backend) {
  const requests: Requests = { listed: [], asked: [], read: [] };
  const backend = wrapBackend(change(rig.backend), {
    list: (list) => (prefix, options) => {
      requests.listed.push(prefix);
      return list(prefix, options);
    },
    head:
      (head) =>
      async (name, ...given) => {
        requests.asked.push(name);
        return head(name, ...given);
      },
    get:
      (get) =>
      async (name, ...given) => {
        requests.read.push(name);
        return get(name, ...given);
      },
  });
  const { maintenance } = await objectsOf(rig, { backend });
  return { check: (options: CheckOptions) => maintenance.check(options), requests };
}

const textOf = ({ bucket, key, address, message }: ObjectFault): string =>
  `${bucket}/${new TextDecoder().decode(key)} ${address}: ${message}`;

/** Every fault that there is, in many objects and two buckets. */
async function damagedRig(): Promise<Rig> {
  const rig = await openRig();
  const { backend, catalog, bucket } = rig;
  const other = await rig.objects.createBucket({ name: "a", owner: "", region: "", time: 0 });
  for (let at = 0; at < 24; at++) {
    await put(rig, `short${at}`, bytesOf(10, at));
    await put({ ...rig, bucket: other.bucket }, `short${at}`, bytesOf(20, at));
  }
  for (let at = 0; at < 6; at++) await put(rig, `long${at}`, bytesOf(MIB + 9, at));
  for (const name of ["many", "none", "some"]) await putParts(rig, name, 12);

  const rootsOf = async (name: string): Promise<Address[]> => {
    const { object, contents } = (await catalog.openObject(bucket.id, keyOf(name)))!;
    return [object.root, ...contents.map(({ address }) => address)];
  };
  for (const address of await rootsOf("none")) await backend.delete(address);
  for (const address of (await rootsOf("some")).slice(1, 9)) await backend.delete(address);
  for (const name of ["short1", "short2", "long1"]) await backend.delete((await rootsOf(name))[0]!);
  await backend.delete((await rootsOf("long2"))[1]!);
  // For a deep check.
  await backend.put((await rootsOf("short3"))[0]!, new Uint8Array(300));
  await backend.put((await rootsOf("long3"))[1]!, new Uint8Array(300));
  return rig;
}

const rig = await damagedRig();
afterAll(() => rig[Symbol.asyncDispose]());

test.each([false, true])("four parts find what the whole does (deep: %p)", async (deep) => {
  const whole = await rig.objects.maintenance.check({ deep });
  expect(whole).toMatchObject({ objects: 57, faultCount: deep ? 8 : 6, reportedElsewhere: 0 });
  const faults: string[] = [];
  const sum = { objects: 0, faultCount: 0, reportedElsewhere: 0 };
  for (const shard of PARTS) {
    const { check, requests } = await watched(rig);
    const told: ObjectFault[] = [];
    const report = await check({ deep, shard, onFault: async (fault) => void told.push(fault) });
    expect(report.faults).toEqual(told);
    expect(report.objects).toBeGreaterThan(0);
    expect(requests.listed).toEqual([...shard.prefixes]);
    faults.push(...told.map(textOf));
    for (const name of Object.keys(sum) as (keyof CheckCounts)[]) sum[name] += report[name];
  }
  expect(faults.toSorted()).toEqual(whole.faults.map(textOf).toSorted());
  expect({ objects: sum.objects, faultCount: sum.faultCount }).toEqual({
    objects: whole.objects,
    faultCount: whole.faultCount,
  });
  // Both objects of many roots lack some in parts that do not report them.
  if (deep) expect(sum.reportedElsewhere).toBe(0);
  else expect(sum.reportedElsewhere).toBeGreaterThan(2);
});

test("a part of a store without faults is listed, and nothing else is asked", async () => {
  await using sound = await openRig();
  for (let at = 0; at < 8; at++) await put(sound, `k${at}`, bytesOf(10, at));
  await putParts(sound, "many", 12);
  const { check, requests } = await watched(sound);
  for (const shard of PARTS) expect((await check({ shard })).faultCount).toBe(0);
  expect(requests).toEqual({ listed: "0123456789abcdef".split(""), asked: [], read: [] });
});

test("a deep check of a part reads no object of another", async () => {
  await using sound = await openRig();
  for (let at = 0; at < 64; at++) await put(sound, `k${at}`, bytesOf(10, at));
  const { check, requests } = await watched(sound);
  const [, shard] = PARTS;
  const { objects } = await check({ deep: true, shard });
  expect(objects).toBeGreaterThan(0);
  expect(requests.read.filter((name) => !shard!.has(name))).toEqual([]);
});

test("an object that loses its first root after the part of that root was checked is counted", async () => {
  await using own = await openRig();
  await putParts(own, "many", 12);
  const { object, contents } = (await own.catalog.openObject(own.bucket.id, keyOf("many")))!;
  const first = PARTS.findIndex(({ has }) => has(object.root));
  const lost = contents.find(({ address }) => !PARTS[first]!.has(address))!.address;
  await own.backend.delete(lost);
  const { check } = await watched(own);
  expect(await check({ shard: PARTS[first] })).toMatchObject({ objects: 1, faultCount: 0 });
  await own.backend.delete(object.root);
  const later = await check({ shard: PARTS.find(({ has }) => has(lost)) });
  expect(later).toMatchObject({ objects: 0, faultCount: 0, reportedElsewhere: 1 });
});

test.each([false, true])("a check continues after any object (deep: %p)", async (deep) => {
  const buckets = new Set<number>();
  for (const shard of PARTS) {
    const places: { place: ObjectPlace; counted: CheckCounts }[] = [];
    const { check, requests } = await watched(rig);
    const all = await check({
      deep,
      shard,
      onChecked: async (place, counted) => void places.push({ place, counted }),
    });
    expect(places.at(-1)!.counted).toMatchObject({ objects: all.objects });
    for (const { place, counted } of places) {
      buckets.add(place.bucket);
      requests.read.length = 0;
      const rest = await check({ deep, shard, after: place });
      expect(counted.objects + rest.objects).toBe(all.objects);
      expect(counted.reportedElsewhere + rest.reportedElsewhere).toBe(all.reportedElsewhere);
      expect(rest.faults).toEqual(all.faults.slice(counted.faultCount));
    }
    // After the last one.
    expect(requests.read).toEqual([]);
  }
  expect(buckets.size).toBe(2);
});

test.each([
  ["unavailable", new StorageError("unavailable", "503", { transient: true })] as const,
  ["permission", new StorageError("permission", "403")] as const,
])(
  "a store that does not answer ends a part, and is a fault of the object in a whole: %s",
  async (_, error) => {
    await using own = await openRig();
    const { root } = await put(own, "k", bytesOf(10, 1));
    const shard = PARTS.find(({ has }) => has(root));
    for (const operation of ["get", "head"] as const) {
      const { check } = await watched(own, (backend) =>
        wrapBackend(backend, {
          [operation]:
            (call: (name: string, ...given: unknown[]) => Promise<unknown>) =>
            async (name: string, ...given: unknown[]) => {
              if (name === root) throw error;
              return call(name, ...given);
            },
        }),
      );
      expect(await failureOf(check({ deep: true, shard }))).toBe(error);
      expect(await check({ deep: true })).toMatchObject({ objects: 1, faultCount: 1 });
    }
  },
);
