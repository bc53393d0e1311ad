import { expect, test } from "bun:test";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import type { Part, Upload } from "../../../src/catalog/records.ts";
import {
  bodyOf,
  bytesOf,
  DAY,
  failureOf,
  keyOf,
  MIB,
  objectsOf,
  openRig,
  read,
  rebuiltOf,
  type Rig,
} from "../support.ts";

/* Writes that are refused, because a conditional write came between, and take a new number. */

const KEY = keyOf("k");

/** A conditional write that begins and fails: it refuses the older writes of its key. */
async function comeBetween({ catalog, bucket, clock }: Rig): Promise<void> {
  const claim = await catalog.claim(bucket.id, KEY, { ifNoneMatch: ["*"] }, clock.now);
  if (claim.outcome !== "claimed") throw new Error(claim.outcome);
  await catalog.releaseClaim(bucket.id, KEY, claim.seq, clock.now);
}

async function beginUpload({
  catalog,
  bucket,
  clock,
  objects,
}: Rig): Promise<{ upload: Upload; part: Part }> {
  const upload = (await catalog.createUpload({
    bucket: bucket.id,
    key: KEY,
    owner: "",
    time: clock.now,
    headers: {},
    tags: [],
    options: {},
  }))!;
  const part = await objects.putPart({ upload, number: 1, body: bodyOf(bytesOf(MIB, 1)) });
  return { upload, part };
}

/** A catalog whose first commit of a Complete is refused, and that fails at the second one. */
function failingLater(rig: Rig): Catalog {
  let calls = 0;
  return {
    ...rig.catalog,
    completeUpload: async (given) => {
      calls += 1;
      if (calls > 1) throw new Error("down");
      await comeBetween(rig);
      return rig.catalog.completeUpload(given);
    },
  };
}

async function isRebuilt(rig: Rig): Promise<boolean> {
  const { catalog, objects } = await rebuiltOf(rig);
  const object = await catalog.findObject(rig.bucket.id, KEY);
  await objects.close();
  await catalog.close();
  return object !== undefined;
}

test("a write of more than a day that is renewed keeps its content", async () => {
  await using rig = await openRig();
  const { objects, bucket, catalog, clock } = rig;
  await objects.maintenance.snapshot();
  const swept: number[] = [];
  let begun = 0;
  const hooked: Catalog = {
    ...catalog,
    beginWrite: async () => {
      begun += 1;
      return catalog.beginWrite(clock.now);
    },
    claim: async (...given) => {
      begun += 1;
      given[3] = clock.now;
      return catalog.claim(...given);
    },
    commitPut: async (given) => {
      if (begun === 1) await comeBetween(rig);
      else swept.push((await objects.maintenance.sweep()).deleted);
      return catalog.commitPut(given);
    },
  };
  // The timers of this process do not run a day in an instant.
  const own = clock.now;
  const writer = await objectsOf(rig, { catalog: hooked, now: () => own });
  const bytes = bytesOf(3 * MIB, 1);
  const { bytes: pieces, ...body } = bodyOf(bytes);
  async function* slow(): AsyncGenerator<Uint8Array> {
    yield* pieces;
    const { seq } = (await catalog.oldestWrite(clock.now))!;
    clock.now += 1.5 * DAY;
    await catalog.beat([seq], clock.now);
  }
  await writer.putObject({ bucket, key: KEY, headers: {}, body: { ...body, bytes: slow() } });
  expect([begun, swept]).toEqual([2, [0]]);
  expect(await read(rig, "k")).toEqual(bytes);
});

test("an upload that was aborted after its renewed Complete failed stays aborted", async () => {
  await using rig = await openRig();
  const { upload, part } = await beginUpload(rig);
  const crashing = await objectsOf(rig, { catalog: failingLater(rig) });
  const whole = { bucket: rig.bucket, upload, parts: [part], etag: "", checksums: {} };
  expect((await failureOf(crashing.completeUpload(whole))).message).toBe("down");
  await rig.objects.abortUpload(upload);
  expect(await isRebuilt(rig)).toBe(false);
});

test("a Complete whose upload is aborted before it is renewed stores no root", async () => {
  await using rig = await openRig();
  const { upload, part } = await beginUpload(rig);
  let renewed = 0;
  const catalog: Catalog = {
    ...failingLater(rig),
    claim: async (...given) => {
      renewed += 1;
      await rig.objects.abortUpload(upload);
      return rig.catalog.claim(...given);
    },
  };
  const crashing = await objectsOf(rig, { catalog });
  const whole = { bucket: rig.bucket, upload, parts: [part], etag: "", checksums: {} };
  expect(await failureOf(crashing.completeUpload(whole))).toMatchObject({ code: "NoSuchUpload" });
  expect(renewed).toBe(1);
  expect(await isRebuilt(rig)).toBe(false);
});
