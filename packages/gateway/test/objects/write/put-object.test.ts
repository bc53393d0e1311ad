import { expect, test } from "bun:test";
import { wrapBackend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import type { IncomingBody } from "../../../src/objects/objects.ts";
import { rejectionOf } from "../../support.ts";
import {
  failureOf,
  blobsOf,
  bodyOf,
  bytesOf,
  CHUNK,
  collect,
  keyOf,
  objectsOf,
  openRig,
  put,
  read,
} from "../support.ts";

const MIB = 2 ** 20;

test.each([0, 1, 1000, MIB, MIB + 1, 3 * CHUNK, 5 * MIB + 17])(
  "an object of %i bytes reads back, whole and in ranges",
  async (length) => {
    await using rig = await openRig();
    const bytes = bytesOf(length, length);
    const { size, kind } = await put(rig, "k", bytes);
    expect([size, kind]).toEqual([length, length <= MIB ? "inline" : "manifest"]);
    expect(await read(rig, "k")).toEqual(bytes);
    const cuts = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 300_000, MIB, length - 1, length];
    for (const start of cuts.filter((cut) => cut >= 0 && cut <= length)) {
      for (const end of cuts.filter((cut) => cut >= start && cut <= length)) {
        expect(await read(rig, "k", { start, end })).toEqual(bytes.slice(start, end));
      }
    }
  },
);

test("an object up to 1 MiB takes one request to store and one to read", async () => {
  const requests: string[] = [];
  const backend = wrapBackend(memory(), {
    put:
      (inner) =>
      async (...given) => {
        requests.push("put");
        await inner(...given);
      },
    get:
      (inner) =>
      async (...given) => {
        requests.push("get");
        return inner(...given);
      },
  });
  await using rig = await openRig({ backend });
  requests.length = 0;
  await put(rig, "k", bytesOf(MIB, 1));
  expect(requests).toEqual(["put"]);
  await read(rig, "k");
  expect(requests).toEqual(["put", "get"]);
});

test.each([MIB - 5, 3 * MIB])(
  "a body of %i bytes that fails its checks at the end leaves nothing",
  async (length) => {
    await using rig = await openRig();
    const before = await blobsOf(rig.backend);
    const good = bodyOf(bytesOf(length, 1));
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield* good.bytes;
      throw new Error("BadDigest");
    }
    const body: IncomingBody = { ...good, bytes: failing() };
    const putting = rig.objects.putObject({
      bucket: rig.bucket,
      key: keyOf("k"),
      headers: {},
      body,
    });
    expect((await failureOf(putting)).message).toContain("BadDigest");
    expect(await blobsOf(rig.backend)).toEqual(before);
    expect(await read(rig, "k")).toBeUndefined();
  },
);

test("a condition that does not hold fails before the body is read", async () => {
  await using rig = await openRig();
  await put(rig, "k", bytesOf(10, 1));
  const before = await blobsOf(rig.backend);
  let pulled = false;
  async function* untouched(): AsyncGenerator<Uint8Array> {
    pulled = true;
    yield new Uint8Array(1);
  }
  const target = { bucket: rig.bucket, key: keyOf("k"), headers: {} };
  const body = { ...bodyOf(new Uint8Array(1)), bytes: untouched() };
  const condition = { ifNoneMatch: ["*"] };
  const error = await rejectionOf(rig.objects.putObject({ ...target, body, condition }));
  expect([error.code, pulled]).toEqual(["PreconditionFailed", false]);
  expect(await blobsOf(rig.backend)).toEqual(before);
});

test("one of 16 writers that require the key to be unused wins", async () => {
  await using rig = await openRig();
  const results = await Promise.allSettled(
    Array.from({ length: 16 }, (_, index) =>
      rig.objects.putObject({
        bucket: rig.bucket,
        key: keyOf("k"),
        headers: {},
        body: bodyOf(bytesOf(2 * MIB, index)),
        condition: { ifNoneMatch: ["*"] },
      }),
    ),
  );
  const winners = results.flatMap((result, index) =>
    result.status === "fulfilled" ? [index] : [],
  );
  expect(winners).toHaveLength(1);
  expect(await read(rig, "k")).toEqual(bytesOf(2 * MIB, winners[0]!));
  // The bucket, and of the object two roots and the chunks.
  expect(await blobsOf(rig.backend)).toHaveLength(1 + 2 + 2 * (MIB / CHUNK));
});

test.each([1, 10])(
  "a write that conditional ones come before, %i times, keeps its content",
  async (times) => {
    await using rig = await openRig();
    const { bucket, catalog, clock } = rig;
    const key = keyOf("k");
    let claims = 0;
    const busy: Catalog = {
      ...catalog,
      async commitPut(given) {
        if (claims++ < times) {
          const claimed = await catalog.claim(bucket.id, key, { ifNoneMatch: ["*"] }, clock.now);
          if (claimed.outcome !== "claimed") throw new Error(claimed.outcome);
          const outcome = await catalog.commitPut(given);
          await catalog.releaseClaim(bucket.id, key, claimed.seq, clock.now);
          return outcome;
        }
        return catalog.commitPut(given);
      },
    };
    const objects = await objectsOf(rig, { catalog: busy });
    const putting = put({ objects, bucket }, "k", bytesOf(3 * MIB, 1));
    if (times < 10) {
      await putting;
      expect(await read(rig, "k")).toEqual(bytesOf(3 * MIB, 1));
    } else {
      expect(await failureOf(putting)).toMatchObject({ code: "SlowDown" });
      // The bucket's.
      expect(await blobsOf(rig.backend)).toHaveLength(1);
    }
  },
);

test("a reader of an object that is overwritten and deleted goes on for an hour", async () => {
  await using rig = await openRig();
  const bytes = bytesOf(3 * MIB, 1);
  await put(rig, "k", bytes);
  const opened = (await rig.catalog.openObject(rig.bucket.id, keyOf("k")))!;
  const reading = rig.objects.readObject(opened)[Symbol.asyncIterator]();
  const first = (await reading.next()).value as Uint8Array;
  await put(rig, "k", bytesOf(10, 2));
  await rig.objects.deleteObjects(rig.bucket, [{ key: keyOf("k") }]);
  rig.clock.now += 59 * 60_000;
  expect(await rig.objects.maintenance.collect()).toMatchObject({ failed: 0 });
  const rest = await collect({ [Symbol.asyncIterator]: () => reading });
  expect(new Uint8Array([...first, ...rest])).toEqual(bytes);
  rig.clock.now += 2 * 60_000;
  await rig.objects.maintenance.collect();
  // The bucket and the tombstone.
  expect(await blobsOf(rig.backend)).toHaveLength(2);
});

test("a reader of an inline object begins after it was overwritten or deleted", async () => {
  await using rig = await openRig();
  const { objects, bucket, catalog } = rig;
  const first = await put(rig, "k", bytesOf(1000, 1));
  const opened = (await catalog.openObject(bucket.id, keyOf("k")))!;
  await put(rig, "k", bytesOf(1000, 2));
  const again = (await catalog.openObject(bucket.id, keyOf("k")))!;
  await objects.deleteObjects(bucket, [{ key: keyOf("k") }]);
  await objects.maintenance.collect();
  expect(await collect(objects.readObject(opened))).toEqual(bytesOf(1000, 1));
  expect(await collect(objects.readObject(again))).toEqual(bytesOf(1000, 2));
  rig.clock.now += 61 * 60_000;
  await objects.maintenance.collect();
  expect(await blobsOf(rig.backend)).not.toContain(first.root);
});

test("without tombstones, a deleted inline root goes at once", async () => {
  await using rig = await openRig({ tombstones: false });
  const { root } = await put(rig, "k", bytesOf(1000, 1));
  await rig.objects.deleteObjects(rig.bucket, [{ key: keyOf("k") }]);
  await rig.objects.maintenance.collect();
  expect(await blobsOf(rig.backend)).not.toContain(root);
});

test.each([1000, 3 * MIB])(
  "an object of %i bytes that should have more is an error",
  async (length) => {
    await using rig = await openRig();
    await put(rig, "k", bytesOf(length, 1));
    const { object, contents } = (await rig.catalog.openObject(rig.bucket.id, keyOf("k")))!;
    const longer = { object: { ...object, size: length + 5 }, contents };
    expect(await failureOf(collect(rig.objects.readObject(longer)))).not.toMatchObject({
      message: "nothing was thrown",
    });
  },
);
