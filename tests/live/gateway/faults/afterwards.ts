import { expect } from "bun:test";
import type { Catalog } from "@idk/gateway";
import { decodeCborT, toHex } from "@idk/storage/blobs";
import { encode, s3Requests } from "../s3-requests.ts";
import type { Contents } from "./contents.ts";
import { entriesOf } from "./load.ts";
import type { Objects } from "./checker/model.ts";
import type { OpenWorld, World } from "./world.ts";

/** All grace periods are over by then. */
const LATER = 3 * 24 * 60 * 60_000;

/** What there must be. */
export interface Expected {
  readonly bucket: string;
  readonly objects: Objects;
  readonly contents: Contents;
}

/**
 * Expects, once no gateway runs, that every object is whole; that after a sweep, when all grace periods are
 * over, nothing else is in the store; and that a catalog which is rebuilt from the store alone is the same and
 * serves every byte.
 */
export async function expectWhole(
  world: World,
  { bucket, objects, contents }: Expected,
): Promise<void> {
  const checked = await world.idk(["check", "--deep"]);
  expect([checked.code, checked.stdout]).toEqual([0, ""]);
  await abortUploads(world);
  await sweep(world);
  const exported = await world.idk(["export"]);
  expect(exported.code).toBe(0);

  const rebuilt = world.home.path(`rebuilt-${crypto.randomUUID()}.sqlite`);
  const rebuild = await world.idk(["rebuild", "--all"], rebuilt);
  expect([rebuild.code, rebuild.stdout]).toEqual([0, ""]);
  expect((await world.idk(["export"], rebuilt)).stdout).toBe(exported.stdout);

  await using gateway = await world.serve("--catalog", rebuilt);
  using requests = s3Requests(gateway);
  const found = new Map<string, string>();
  for (let after = ""; ;) {
    const page = await requests.send(
      "GET",
      `/${bucket}?list-type=2&start-after=${encode(after, /[\w.-]/u)}`,
    );
    const entries = entriesOf(page);
    for (const [key, etag] of entries) found.set(key, etag);
    if (!page.body.includes("<IsTruncated>true")) break;
    after = [...entries.keys()].at(-1)!;
  }
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(objects));
  for (const [key, etag] of objects) {
    const { status, body } = await requests.send("GET", `/${bucket}/${encode(key)}`);
    expect([key, status, body.equals(contents.find(etag)!)]).toEqual([key, 200, true]);
  }
}

async function abortUploads(world: World): Promise<void> {
  await using opened = await world.open();
  const { catalog, objects } = opened;
  for (const bucket of await catalog.listBuckets()) {
    const page = { bucket: bucket.id, prefix: new Uint8Array(0), limit: 1000 };
    const { entries } = await catalog.listUploads(page);
    for (const upload of entries) await objects.abortUpload(upload);
  }
}

async function sweep(world: World): Promise<void> {
  await using opened = await world.open(LATER);
  const { catalog, objects, store } = opened;
  const before = await blobsOf(world);
  expect(await objects.maintenance.snapshot()).toBe(true);
  const own = new Set([...(await blobsOf(world))].filter((name) => !before.has(name)));
  expect(await objects.maintenance.collect()).toMatchObject({ failed: 0 });
  const swept = await objects.maintenance.sweep();
  expect(swept).toMatchObject({ forged: [] });
  expect(swept.refused).toBeUndefined();

  const live = await liveBlobs(catalog, store);
  const left = await blobsOf(world);
  expect([...live].filter((name) => !left.has(name))).toEqual([]);
  const others = [...left].filter((name) => !live.has(name) && !own.has(name));
  const types = await Promise.all(others.map(async (name) => typeOf(store, name)));
  // The last snapshots stay, with their content; and the records of buckets.
  const kept = others.filter((_, index) => types[index] === "snapshot");
  expect(kept.length).toBeLessThanOrEqual(2);
  const content = await snapshotBlobs(store, kept);
  const unexplained = others.flatMap((name, index) =>
    ["bucket", "snapshot"].includes(String(types[index])) || content.has(name)
      ? []
      : [[types[index], name]],
  );
  expect(unexplained).toEqual([]);
}

async function blobsOf({ backend }: World): Promise<Set<string>> {
  const names = new Set<string>();
  for await (const { name } of backend.list("")) names.add(name);
  return names;
}

/** All blobs of the objects in the catalog. */
async function liveBlobs(catalog: Catalog, store: OpenWorld["store"]): Promise<Set<string>> {
  const live = new Set<string>();
  for await (const row of catalog.exportRows()) {
    if (row.type !== "object") continue;
    for (const address of [row.object.root, ...row.contents.map((content) => content.address)]) {
      if (live.has(address)) continue;
      for await (const blob of store.treeAddresses(address)) live.add(blob);
    }
  }
  return live;
}

/** The type of a gateway's own record. */
async function typeOf(store: OpenWorld["store"], name: string): Promise<unknown> {
  try {
    const { s3 } = (await store.stat(name)).metadata;
    const record = s3 instanceof Uint8Array ? decodeCborT(s3) : undefined;
    return record instanceof Map ? record.get("type") : "content";
  } catch (error) {
    return String(error);
  }
}

/** The blobs that snapshots of the catalog name in their manifests. */
async function snapshotBlobs(
  store: OpenWorld["store"],
  snapshots: readonly string[],
): Promise<Set<string>> {
  const blobs = new Set<string>();
  const collect = async (item: unknown): Promise<void> => {
    if (item instanceof Uint8Array && item.length === 32) {
      for await (const blob of store.treeAddresses(toHex(item))) blobs.add(blob);
    } else if (Array.isArray(item)) {
      for (const inner of item) await collect(inner);
    } else if (item instanceof Map) {
      for (const inner of item.values()) await collect(inner);
    }
  };
  for (const name of snapshots) await collect(decodeCborT(await (await store.get(name)).bytes()));
  return blobs;
}
