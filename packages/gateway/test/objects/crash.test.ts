import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { type Backend, createStore, generateIdentity, wrapBackend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { openCatalog } from "../../src/catalog/open-catalog.ts";
import { createObjects, type ObjectsOptions } from "../../src/objects/create-objects.ts";
import { rebuildCatalog } from "../../src/objects/rebuild/rebuild.ts";
import type { Objects } from "../../src/objects/objects.ts";
import { S3Error } from "../../src/errors.ts";
import {
  blobsOf,
  bodyOf,
  bytesOf,
  CHUNK,
  DAY,
  keyOf,
  md5Of,
  openRig,
  read,
  rowsOf,
} from "./support.ts";

/*
 * A gateway one of whose calls of the store or the catalog fails, before or after it is done, while it
 * runs random operations; it dies of that, or goes on. Whatever it had acknowledged must be there; of what it was doing, all
 * or nothing; and after a sweep nothing else is left. IDK_GATEWAY_CRASHES sets how many runs there are, and
 * IDK_GATEWAY_SEED the first seed; a failure names its seed.
 */

const RUNS = Number(process.env["IDK_GATEWAY_CRASHES"] ?? 30);
const FIRST_SEED = Number(process.env["IDK_GATEWAY_SEED"] ?? 1);
const OPERATIONS = 10;
const KEYS = ["a", "b", "c"];
const LONG = 2 ** 20 + 70_000;

/** Numbers from 0 to below the limit, the same for the same seed. */
function createRandom(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) % limit;
  };
}

class Crash extends Error {}

/** How a gateway fails: at which call, whether that is done all the same, and whether it is the last one. */
interface Failure {
  readonly at: number;
  readonly isDone: boolean;
  readonly isLast: boolean;
}

const NO_FAILURE: Failure = { at: Infinity, isDone: false, isLast: true };

/** Notes calls, and makes one of them fail, or also all that follow. */
function createFuse({ at, isDone, isLast }: Failure) {
  const calls: string[] = [];
  let isDead = false;
  const through = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
    if (isDead) throw new Crash();
    calls.push(name);
    if (calls.length - 1 !== at) return call();
    isDead = isLast;
    if (isDone) await call();
    throw new Crash();
  };
  return { through, calls, isDead: () => isDead };
}

/** One of the calls, as often of a kind that is rare as of one that is frequent. */
function chooseCall(calls: readonly string[], random: (limit: number) => number): number {
  const kinds = [...new Set(calls)];
  const kind = kinds[random(kinds.length)];
  const places = calls.flatMap((name, place) => (name === kind ? [place] : []));
  return places[random(places.length)]!;
}

type Fuse = ReturnType<typeof createFuse>;

function fusedBackend(backend: Backend, { through }: Fuse): Backend {
  return wrapBackend(backend, {
    put:
      (put) =>
      (...given) =>
        through("put", () => put(...given)),
    get:
      (get) =>
      (...given) =>
        through("get", () => get(...given)),
    delete:
      (remove) =>
      (...given) =>
        through("delete", () => remove(...given)),
    putMarker:
      (put) =>
      (...given) =>
        through("putMarker", () => put(...given)),
  });
}

function fusedCatalog(catalog: Catalog, { through }: Fuse): Catalog {
  const fused: Record<string, unknown> = { ...catalog };
  for (const [name, method] of Object.entries(catalog)) {
    if (name === "exportRows" || name === "close" || name === "lineage") continue;
    fused[name] = (...given: unknown[]) =>
      through(name, () => (method as (...given: unknown[]) => Promise<unknown>)(...given));
  }
  return fused as unknown as Catalog;
}

/** What keys may hold: digests of content, or undefined. More than one only if nobody was told. */
type Model = Map<string, ReadonlySet<string | undefined>>;

const digestOf = (bytes: Uint8Array | undefined): string | undefined => bytes && md5Of(bytes);

interface World {
  readonly objects: Objects;
  readonly catalog: Catalog;
  readonly bucket: { readonly id: number; readonly name: string } & Parameters<
    Objects["deleteBucket"]
  >[0];
  readonly clock: { now: number };
  readonly model: Model;
}

/** Runs an operation; what it may change is in the model before it ends, and settled afterwards. */
async function operate(
  world: World,
  random: (limit: number) => number,
  seed: number,
): Promise<void> {
  const { objects, catalog, bucket, clock, model } = world;
  const name = KEYS[random(KEYS.length)]!;
  const key = keyOf(name);
  const before = model.get(name) ?? new Set([undefined]);
  const attempt = async (after: string | undefined, run: () => Promise<unknown>): Promise<void> => {
    model.set(name, new Set([...before, after]));
    try {
      await run();
      model.set(name, new Set([after]));
    } catch (error) {
      // Refused, so nothing may have changed. 503 leaves it open.
      if (!(error instanceof S3Error)) throw error;
      if (error.status < 500) model.set(name, before);
    }
  };
  const bytes = bytesOf(random(2) === 0 ? 100 + random(1000) : LONG, seed);
  const target = { bucket, key, headers: {} };
  clock.now += 1000;
  switch (random(8)) {
    case 0:
    case 1:
      return attempt(md5Of(bytes), () => objects.putObject({ ...target, body: bodyOf(bytes) }));
    case 2: {
      const condition = { ifNoneMatch: ["*"] };
      const body = bodyOf(bytes);
      return attempt(md5Of(bytes), () => objects.putObject({ ...target, body, condition }));
    }
    case 3:
      return attempt(undefined, () => objects.deleteObjects(bucket, [{ key }]));
    case 4: {
      const from = KEYS[random(KEYS.length)]!;
      const source = await catalog.openObject(bucket.id, keyOf(from));
      const digests = model.get(from);
      if (source === undefined || digests?.size !== 1) return;
      const [digest] = digests;
      return attempt(digest, () => objects.copyObject({ ...target, source }));
    }
    case 5: {
      const upload = await catalog.createUpload({
        bucket: bucket.id,
        key,
        owner: "",
        time: clock.now,
        headers: {},
        tags: [],
        options: {},
      });
      const contents = [bytesOf(CHUNK + 5, seed + 1), bytesOf(300, seed + 2)];
      const parts = [];
      for (const [index, content] of contents.entries()) {
        const body = bodyOf(content);
        parts.push(await objects.putPart({ upload: upload!, number: index + 1, body }));
      }
      const etag = `${"0".repeat(32)}-2`;
      const whole = { bucket, upload: upload!, parts, etag, checksums: {} };
      const completing = attempt(md5Of(Buffer.concat(contents)), () =>
        objects.completeUpload(whole),
      );
      if (random(2) === 0) return completing;
      // A client that gets no answer gives up.
      return completing.catch(async (failure: unknown) => {
        try {
          await objects.abortUpload(upload!);
        } catch (error) {
          // It was completed.
          if (error instanceof S3Error) return;
          throw error;
        }
        if (!(failure instanceof Crash)) throw failure;
        model.set(name, before);
      });
    }
    case 6:
      await objects.maintenance.collect();
      return;
    default:
      await objects.maintenance.snapshot();
  }
}

async function run(seed: number, failure: Failure): Promise<readonly string[]> {
  const clock = { now: Date.UTC(2026, 0, 1) };
  const now = (): number => clock.now;
  const backend = memory({ now });
  const identity = await generateIdentity();
  await using rig = await openRig({ backend, identities: [identity], now });
  const { catalog, bucket } = rig;
  const options: ObjectsOptions = {
    backend,
    catalog,
    recipients: [identity.recipient],
    identities: [identity],
    chunkSize: CHUNK,
    background: false,
    now,
  };
  const fuse = createFuse(failure);
  const model: Model = new Map();
  const random = createRandom(seed);
  const objects = await createObjects({
    ...options,
    backend: fusedBackend(backend, fuse),
    catalog: fusedCatalog(catalog, fuse),
  });
  const world = { objects, catalog: fusedCatalog(catalog, fuse), bucket, clock, model };
  for (let i = 0; i < OPERATIONS && !fuse.isDead(); i++) {
    try {
      await operate(world, random, seed * 1000 + i);
    } catch (error) {
      if (!(error instanceof Crash) && !(error instanceof Error && error.cause instanceof Crash)) {
        throw error;
      }
    }
  }

  const expectModel = async (from: Catalog): Promise<void> => {
    const reader = await createObjects({ ...options, catalog: from });
    for (const name of KEYS) {
      const found = digestOf(await read({ objects: reader, bucket, catalog: from }, name));
      expect([...(model.get(name) ?? [undefined])]).toContain(found);
    }
    await reader.close();
  };
  const rebuild = async (): Promise<Catalog> => {
    const rebuilt = await openCatalog(await rig.newPlace());
    const report = await rebuildCatalog({ backend, catalog: rebuilt, identities: [identity] });
    expect(report).toMatchObject({ faults: [], forged: [], isComplete: true });
    return rebuilt;
  };

  // The next process. First of all, as if the catalog had been lost together with the last one.
  await using lost = await rebuild().then(closing);
  await expectModel(lost);
  await expectModel(catalog);
  const next = await createObjects(options);
  // The leases of the dead process expire.
  clock.now += 2 * DAY;
  expect(await next.maintenance.snapshot()).toBe(true);
  const uploads = await catalog.listUploads({
    bucket: bucket.id,
    prefix: new Uint8Array(0),
    limit: 1000,
  });
  for (const upload of uploads.entries) await next.abortUpload(upload);
  // What an abort declared void is swept when it is older than a day.
  clock.now += DAY + 1000;
  await next.maintenance.collect();
  const sweep = await next.maintenance.sweep();
  expect(sweep.refused).toBeUndefined();
  await expectModel(catalog);
  await expectNothingElse(backend, catalog, identity);
  await using rebuilt = await rebuild().then(closing);
  // A tombstone that was not stored, of a deletion that nobody was told of, brings nothing back now.
  expect(await rowsOf(rebuilt)).toEqual(await rowsOf(catalog));
  await next.close();
  return fuse.calls;
}

function closing(catalog: Catalog): Catalog & AsyncDisposable {
  return { ...catalog, [Symbol.asyncDispose]: () => catalog.close() };
}

/** All blobs belong to an object, or to the gateway's own records. */
async function expectNothingElse(
  backend: Backend,
  catalog: Catalog,
  identity: Awaited<ReturnType<typeof generateIdentity>>,
): Promise<void> {
  await using store = createStore({ backend, identities: [identity] });
  const expected = new Set<string>();
  for await (const row of catalog.exportRows()) {
    if (row.type !== "object") continue;
    expected.add(row.object.root);
    for (const { address } of row.contents) {
      for await (const blob of store.treeAddresses(address)) expected.add(blob);
    }
  }
  const others = (await blobsOf(backend)).filter((name) => !expected.has(name));
  // The bucket; and of the snapshot its root and its content, which is inline.
  const kinds: string[] = [];
  for (const name of others) {
    const { s3 } = (await store.stat(name)).metadata;
    kinds.push(s3 === undefined ? "content" : createHash("md5").update(name).digest("hex"));
  }
  expect(kinds.filter((kind) => kind === "content").length).toBeLessThanOrEqual(3);
  expect(kinds.length).toBeLessThanOrEqual(1 + 3 * 2);
}

for (let seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed++) {
  test(`a crash loses nothing that was acknowledged, and leaves nothing else: seed ${seed}`, async () => {
    const calls = await run(seed, NO_FAILURE);
    const random = createRandom(seed * 7919);
    for (const isLast of [true, false]) {
      await run(seed, { at: chooseCall(calls, random), isDone: random(2) === 0, isLast });
    }
  }, 120_000);
}
