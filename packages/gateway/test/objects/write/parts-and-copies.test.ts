import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { macKeyOf } from "../../../src/objects/identity/mac.ts";
import { createObjects } from "../../../src/objects/create-objects.ts";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import { CONTENTS_MAX } from "../../../src/objects/identity/manifest.ts";
import type { Part, Upload } from "../../../src/catalog/records.ts";
import type { Completion } from "../../../src/objects/objects.ts";
import { rejectionOf } from "../../support.ts";
import {
  blobsOf,
  bodyOf,
  bytesOf,
  CHUNK,
  collect,
  HOUR,
  keyOf,
  md5Of,
  objectsOf,
  openRig,
  put,
  read,
  rebuiltOf,
  type Rig,
} from "../support.ts";

const MIB = 2 ** 20;

async function begin({ catalog, bucket, clock }: Rig, key: string): Promise<Upload> {
  const upload = await catalog.createUpload({
    bucket: bucket.id,
    key: keyOf(key),
    owner: "me",
    time: clock.now,
    headers: { "content-type": "a/b" },
    tags: [["t", "1"]],
    options: {},
  });
  return upload!;
}

function putPart(
  { objects }: Rig,
  upload: Upload,
  number: number,
  bytes: Uint8Array,
): Promise<Part> {
  return objects.putPart({ upload, number, body: bodyOf(bytes) });
}

function complete(
  { objects, bucket }: Rig,
  upload: Upload,
  parts: readonly Part[],
): Promise<Completion> {
  const md5 = createHash("md5");
  for (const { etag } of parts) md5.update(Buffer.from(etag, "hex"));
  const etag = `${md5.digest("hex")}-${parts.length}`;
  return objects.completeUpload({ bucket, upload, parts, etag, checksums: {} });
}

test("parts in any order, some twice and some left out, become an object", async () => {
  await using rig = await openRig();
  const upload = await begin(rig, "k");
  const contents = [bytesOf(700_000, 1), bytesOf(2 * MIB + 5, 2), bytesOf(10, 3)];
  await putPart(rig, upload, 9, bytesOf(100, 9));
  const third = await putPart(rig, upload, 7, contents[2]!);
  await putPart(rig, upload, 2, bytesOf(3 * CHUNK, 8));
  const first = await putPart(rig, upload, 1, contents[0]!);
  const second = await putPart(rig, upload, 2, contents[1]!);
  expect(second.etag).toBe(md5Of(contents[1]!));
  const done = await complete(rig, upload, [first, second, third]);
  expect(done.etag).toEndWith("-3");

  const whole = new Uint8Array(Buffer.concat(contents));
  expect(await read(rig, "k")).toEqual(whole);
  const ends = [0, 699_999, 700_000, 700_001, 700_000 + 2 * MIB + 5, whole.length];
  for (const start of ends) {
    for (const end of ends.filter((end) => end >= start)) {
      expect(await read(rig, "k", { start, end })).toEqual(whole.slice(start, end));
    }
  }
  // Again, as a client does that got no answer.
  expect(await complete(rig, upload, [first, second, third])).toMatchObject({ etag: done.etag });
  // What was replaced or left out goes after an hour.
  rig.clock.now += 61 * 60_000;
  await rig.objects.maintenance.collect();
  // The bucket, the manifest; 1, 2 MiB / CHUNK + 1 and no chunks, padding included, with their roots.
  const { objects } = await rig.objects.maintenance.check({ deep: true });
  expect(objects).toBe(1);
  expect(await blobsOf(rig.backend)).toHaveLength(1 + 1 + 1 + (1 + 9) + 1);
});

test("a part that was replaced after it was listed fails Complete, and nothing changes", async () => {
  await using rig = await openRig();
  const upload = await begin(rig, "k");
  const old = await putPart(rig, upload, 1, bytesOf(10, 1));
  await putPart(rig, upload, 1, bytesOf(10, 2));
  expect((await rejectionOf(complete(rig, upload, [old]))).code).toBe("InvalidPart");
  expect(await read(rig, "k")).toBeUndefined();
});

test("a Complete of more content roots than a manifest can list stores nothing", async () => {
  await using rig = await openRig();
  const { bucket, catalog } = rig;
  const upload = await begin(rig, "k");
  const part = await putPart(rig, upload, 1, bytesOf(10, 1));
  const before = await blobsOf(rig.backend);
  let count = CONTENTS_MAX + 1;
  const split: Catalog = {
    ...catalog,
    openUpload: async (given) => {
      const { parts, contents } = await catalog.openUpload(given);
      return { parts, contents: Array.from({ length: count }, () => contents[0]!) };
    },
  };
  const objects = await objectsOf(rig, { catalog: split });
  const error = await rejectionOf(complete({ ...rig, objects }, upload, [part]));
  expect(error.code).toBe("EntityTooLarge");
  expect(error.message).toContain(`${count} pieces`);
  expect(await blobsOf(rig.backend)).toEqual(before);
  expect(await catalog.findObject(bucket.id, keyOf("k"))).toBeUndefined();
  count = 1;
  expect(await complete({ ...rig, objects }, upload, [part])).toMatchObject({ checksums: {} });
});

test("a part of an upload that was aborted meanwhile leaves nothing", async () => {
  await using rig = await openRig();
  const before = await blobsOf(rig.backend);
  const upload = await begin(rig, "k");
  await rig.catalog.abortUpload(upload, rig.clock.now);
  const error = await rejectionOf(putPart(rig, upload, 1, bytesOf(2 * MIB, 1)));
  expect(error.code).toBe("NoSuchUpload");
  expect(await blobsOf(rig.backend)).toEqual(before);
});

test("a copy of a manifest stores one blob, and outlives its source", async () => {
  await using rig = await openRig();
  const { objects, bucket, catalog } = rig;
  const bytes = bytesOf(3 * MIB, 1);
  await put(rig, "a", bytes);
  const before = (await blobsOf(rig.backend)).length;
  const source = (await catalog.openObject(bucket.id, keyOf("a")))!;
  await objects.copyObject({ bucket, key: keyOf("c"), headers: { x: "y" }, source });
  expect(await blobsOf(rig.backend)).toHaveLength(before + 1);
  await objects.deleteObjects(bucket, [{ key: keyOf("a") }]);
  rig.clock.now += 61 * 60_000;
  await objects.maintenance.collect();
  expect(await read(rig, "c")).toEqual(bytes);
  expect((await catalog.findObject(bucket.id, keyOf("c")))!.headers).toEqual({ x: "y" });
});

test("a copy of an inline object has a root of its own, also onto itself", async () => {
  await using rig = await openRig();
  const { objects, bucket, catalog, clock } = rig;
  const bytes = bytesOf(1000, 1);
  const { root, etag } = await put(rig, "a", bytes);
  const source = (await catalog.openObject(bucket.id, keyOf("a")))!;
  const copy = await objects.copyObject({ bucket, key: keyOf("a"), headers: { x: "y" }, source });
  expect(copy.root).not.toBe(root);
  expect(copy.etag).toBe(etag);
  clock.now += HOUR;
  await objects.maintenance.collect();
  expect(await blobsOf(rig.backend)).toHaveLength(2);
  expect(await read(rig, "a")).toEqual(bytes);
});

test.each([10, 3 * MIB])(
  "a copy of %i bytes onto itself does not undo a write that came between",
  async (length) => {
    await using rig = await openRig();
    const { objects, bucket, catalog } = rig;
    await put(rig, "a", bytesOf(length, 1));
    const source = (await catalog.openObject(bucket.id, keyOf("a")))!;
    await put(rig, "a", bytesOf(10, 2));
    const copying = objects.copyObject({ bucket, key: keyOf("a"), headers: { x: "y" }, source });
    expect((await rejectionOf(copying)).code).toBe("OperationAborted");
    expect(await read(rig, "a")).toEqual(bytesOf(10, 2));
  },
);

test("a part is copied by sharing if its MD5 is known, and stored anew otherwise", async () => {
  await using rig = await openRig();
  const { objects, bucket, catalog } = rig;
  const bytes = bytesOf(3 * MIB, 1);
  await put(rig, "a", bytes);
  const source = (await catalog.openObject(bucket.id, keyOf("a")))!;
  const upload = await begin(rig, "k");
  const before = (await blobsOf(rig.backend)).length;
  const whole = await objects.copyPart({ upload, number: 1, source });
  expect([whole.etag, (await blobsOf(rig.backend)).length]).toEqual([md5Of(bytes), before]);
  const range = { start: 5, end: 2 * MIB };
  const part = await objects.copyPart({ upload, number: 2, source, range });
  expect(part.etag).toBe(md5Of(bytes.slice(5, 2 * MIB)));
  await complete(rig, upload, [whole, part]);
  await objects.deleteObjects(bucket, [{ key: keyOf("a") }]);
  rig.clock.now += 61 * 60_000;
  await objects.maintenance.collect();
  const copied = Buffer.concat([bytes, bytes.slice(5, 2 * MIB)]);
  expect(await read(rig, "k")).toEqual(new Uint8Array(copied));
});

test("a gateway with public keys alone writes what a reader can read, and reads nothing", async () => {
  await using rig = await openRig();
  const { backend, catalog, bucket, identity, clock } = rig;
  const writer = await createObjects({
    backend,
    catalog,
    recipients: [identity.recipient],
    macKey: macKeyOf(identity),
    background: false,
    now: () => clock.now,
  });
  expect(writer.canRead).toBe(false);
  const bytes = bytesOf(2 * MIB, 1);
  await writer.putObject({ bucket, key: keyOf("large"), headers: {}, body: bodyOf(bytes) });
  const short = { bucket, key: keyOf("short"), headers: {} };
  await writer.putObject({ ...short, body: bodyOf(bytes.slice(0, 5)) });
  expect(await read(rig, "large")).toEqual(bytes);
  const source = (await catalog.openObject(bucket.id, keyOf("short")))!;
  expect((await rejectionOf(collect(writer.readObject(source)))).code).toBe("AccessDenied");
  expect((await rejectionOf(writer.copyObject({ ...short, source }))).code).toBe("AccessDenied");
  const large = (await catalog.openObject(bucket.id, keyOf("large")))!;
  await writer.copyObject({ ...short, source: large });
  expect(await read(rig, "short")).toEqual(bytes);
  expect((await rig.objects.maintenance.check({ deep: true })).faults).toEqual([]);
  await writer.close();
});

test.each([1000, 3 * MIB])(
  "tags of an object of %i bytes survive the loss of the catalog",
  async (length) => {
    await using rig = await openRig();
    const { objects, bucket, catalog, clock } = rig;
    const stored = await put(rig, "k", bytesOf(length, 1));
    const source = (await catalog.openObject(bucket.id, keyOf("k")))!;
    clock.now += 60_000;
    const tags = [["a", "b"]] as const;
    expect(await objects.setTags({ bucket, source, tags })).toBe(true);
    const tagged = (await catalog.findObject(bucket.id, keyOf("k")))!;
    const { seq: _, root: __, ...same } = stored;
    expect(tagged).toMatchObject({ ...same, tags });
    expect(await read(rig, "k")).toEqual(bytesOf(length, 1));
    // Another version is there now.
    expect(await objects.setTags({ bucket, source, tags: [] })).toBe(false);
    clock.now += 61 * 60_000;
    await objects.maintenance.collect();
    const rebuilt = await rebuiltOf(rig);
    expect(rebuilt.report.isComplete).toBe(true);
    expect(await rebuilt.catalog.findObject(bucket.id, keyOf("k"))).toEqual(tagged);
    expect(await read({ ...rebuilt, bucket }, "k")).toEqual(bytesOf(length, 1));
    await rebuilt.catalog.close();
  },
);

test("a repeated Complete leaves neither a claim nor a write behind", async () => {
  await using rig = await openRig();
  const { bucket, catalog } = rig;
  await put(rig, "k", bytesOf(10, 1));
  const upload = await begin(rig, "k");
  const part = await putPart(rig, upload, 1, bytesOf(MIB, 1));
  const whole = { bucket, upload, parts: [part], etag: `${"0".repeat(32)}-1`, checksums: {} };
  const condition = { ifMatch: ["*"] };
  const { seq } = await rig.objects.completeUpload({ ...whole, condition });
  // It came while the first one was running.
  let looks = 0;
  const late = {
    ...catalog,
    findCompleted: async (...given: Parameters<typeof catalog.findCompleted>) => {
      looks += 1;
      return looks === 1 ? undefined : catalog.findCompleted(...given);
    },
  };
  const objects = await objectsOf(rig, { catalog: late });
  for (const wanted of [condition, { ifNoneMatch: ["*"] }]) {
    looks = 0;
    expect(await objects.completeUpload({ ...whole, condition: wanted })).toMatchObject({ seq });
  }
  expect(await catalog.counts()).toMatchObject({ writes: 0 });
  const target = { bucket, key: keyOf("k"), headers: {} };
  const next = await rig.objects.putObject({ ...target, body: bodyOf(bytesOf(5, 5)), condition });
  expect(next.seq).toBeGreaterThan(seq);
});
