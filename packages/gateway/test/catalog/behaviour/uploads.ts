import { expect, test } from "bun:test";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import type { Bucket, Upload } from "../../../src/catalog/records.ts";
import {
  address,
  addresses,
  bytes,
  DAY,
  garbage,
  inline,
  listAll,
  NOW,
  part,
  put,
  putManifest,
  putOf,
  root,
  using,
  type OpenFixture,
} from "./fixture.ts";

const KEY = bytes("key");

export async function begin(catalog: Catalog, bucket: Bucket, key = "key"): Promise<Upload> {
  const upload = await catalog.createUpload({
    bucket: bucket.id,
    key: bytes(key),
    owner: "owner",
    time: NOW,
    headers: { "content-type": "text/plain" },
    tags: [["a", "b"]],
    options: { checksum: "crc32" },
  });
  return upload!;
}

async function add(catalog: Catalog, upload: Upload, number: number, names: string[]) {
  const given = part(number, await catalog.nextSeq());
  const contents = names.map((name) => root(name));
  const { outcome } = await catalog.putPart({ upload, part: given, contents, now: NOW });
  expect(outcome).toBe("stored");
  return given;
}

export function uploadBehaviour(open: OpenFixture): void {
  test(
    "returns an upload to whoever has its ID and key",
    using(open, async ({ catalog, bucket, reopen }) => {
      const upload = await begin(catalog, bucket);
      const other = await reopen();
      expect(await other.findUpload(bucket.id, KEY, upload.id)).toEqual(upload);
      for (const id of [
        "",
        "none",
        upload.id.slice(0, -1),
        `${upload.id.slice(0, 14)}${"0".repeat(32)}`,
      ]) {
        expect(await other.findUpload(bucket.id, KEY, id)).toBeUndefined();
      }
      expect(await other.findUpload(bucket.id, bytes("kex"), upload.id)).toBeUndefined();
      expect(await other.findUpload(bucket.id + 1, KEY, upload.id)).toBeUndefined();
      expect((await begin(catalog, bucket)).id > upload.id).toBe(true);
      const nowhere = { ...upload, bucket: bucket.id + 1 };
      expect(await catalog.createUpload(nowhere)).toBeUndefined();
    }),
  );

  test(
    "lists parts by number, and the last one put under a number is it",
    using(open, async ({ catalog, bucket }) => {
      const upload = await begin(catalog, bucket);
      const ten = await add(catalog, upload, 10, ["ten"]);
      await add(catalog, upload, 2, ["old", "older"]);
      const two = await add(catalog, upload, 2, ["new"]);
      expect(await garbage(catalog)).toEqual(addresses("old", "older"));
      expect(await catalog.listParts(upload, 0, 10)).toEqual([two, ten]);
      expect(await catalog.listParts(upload, 0, 1)).toEqual([two]);
      expect(await catalog.listParts(upload, 2, 10)).toEqual([ten]);
      expect(await catalog.openUpload(upload)).toEqual({
        parts: [two, ten],
        contents: [
          { ...root("new"), part: 2 },
          { ...root("ten"), part: 10 },
        ],
      });
      // One that began earlier, and took longer.
      const late = { upload, part: part(2, two.seq - 1), contents: [root("late")], now: NOW };
      expect(await catalog.putPart(late)).toEqual({ outcome: "superseded" });
      expect(await garbage(catalog)).toEqual(addresses("late", "old", "older"));
    }),
  );

  test(
    "completes an upload with the listed parts; the others become garbage",
    using(open, async ({ catalog, bucket }) => {
      const before = await put(catalog, bucket, "key");
      const upload = await begin(catalog, bucket);
      const [one, , three] = [
        await add(catalog, upload, 1, ["a", "b"]),
        await add(catalog, upload, 2, ["c"]),
        await add(catalog, upload, 3, ["d"]),
      ];
      const object = inline(await catalog.nextSeq(), { kind: "manifest", size: 300 });
      const complete = { upload, object, parts: [one, three], now: NOW };
      expect(await catalog.completeUpload(complete)).toMatchObject({
        outcome: "stored",
        replaced: { seq: before.seq },
      });
      expect(await garbage(catalog)).toEqual([before.root, address("c")].toSorted());
      const opened = (await catalog.openObject(bucket.id, KEY))!;
      expect(opened.object).toEqual({ ...object, bucket: bucket.id, key: KEY, parts: 2 });
      expect(opened.contents.map(({ part, address }) => [part, address])).toEqual([
        [1, address("a")],
        [1, address("b")],
        [3, address("d")],
      ]);
      expect(await catalog.listObjectParts(opened.object, 0, 10)).toEqual([one, three]);
      expect(await catalog.findUpload(bucket.id, KEY, upload.id)).toBeUndefined();
      expect(await catalog.abortUpload(upload, NOW)).toBe(false);
      await catalog.deleteObject(bucket.id, KEY, { now: NOW });
      expect(await garbage(catalog)).toEqual(
        [before.root, object.root, ...addresses("a", "b", "c", "d")].toSorted(),
      );
    }),
  );

  test(
    "Complete may be repeated for a day",
    using(open, async ({ catalog, bucket }) => {
      const upload = await begin(catalog, bucket);
      const one = await add(catalog, upload, 1, ["a"]);
      const object = inline(await catalog.nextSeq(), { kind: "manifest" });
      const complete = { upload, object, parts: [one], now: NOW };
      expect((await catalog.completeUpload(complete)).outcome).toBe("stored");
      await put(catalog, bucket, "key");
      const { seq, size, etag, time, checksums } = object;
      const completed = { outcome: "completed", object: { seq, size, etag, time, checksums } };
      const again = { ...complete, object: inline(await catalog.nextSeq()) };
      expect(await catalog.completeUpload(again)).toEqual(completed as never);
      expect(await catalog.findCompleted(bucket.id, KEY, upload.id)).toEqual(completed as never);
      expect(await catalog.findCompleted(bucket.id, bytes("x"), upload.id)).toBeUndefined();
      await catalog.purge(NOW + DAY);
      expect(await catalog.findCompleted(bucket.id, KEY, upload.id)).toBeDefined();
      await catalog.purge(NOW + DAY + 1);
      expect(await catalog.findCompleted(bucket.id, KEY, upload.id)).toBeUndefined();
      expect(await catalog.completeUpload(again)).toEqual({ outcome: "no-upload" });
    }),
  );

  test(
    "of many that complete an upload at once one does, over two catalogs",
    using(open, async ({ catalog, bucket, reopen }) => {
      const catalogs = [catalog, await reopen()];
      const upload = await begin(catalog, bucket);
      const one = await add(catalog, upload, 1, ["a"]);
      const outcomes = await Promise.all(
        Array.from({ length: 16 }, async (_, i) => {
          const writer = catalogs[i % 2]!;
          const object = inline(await writer.nextSeq(), { kind: "manifest" });
          const done = await writer.completeUpload({ upload, object, parts: [one], now: NOW });
          return done.outcome;
        }),
      );
      expect(outcomes.filter((outcome) => outcome === "stored")).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === "completed")).toHaveLength(15);
    }),
  );

  test(
    "refuses to complete with parts that are not there, or not there any more",
    using(open, async ({ catalog, bucket }) => {
      const upload = await begin(catalog, bucket);
      const old = await add(catalog, upload, 1, ["a"]);
      await add(catalog, upload, 1, ["b"]);
      const object = inline(await catalog.nextSeq(), { kind: "manifest" });
      for (const parts of [[old], [part(2, 1)]]) {
        expect(await catalog.completeUpload({ upload, object, parts, now: NOW })).toEqual({
          outcome: "changed",
        });
      }
      expect(await catalog.findUpload(bucket.id, KEY, upload.id)).toBeDefined();
    }),
  );

  test(
    "an upload that is completed after a later write is superseded",
    using(open, async ({ catalog, bucket }) => {
      const upload = await begin(catalog, bucket);
      const one = await add(catalog, upload, 1, ["a"]);
      const object = inline(await catalog.nextSeq(), { kind: "manifest" });
      const later = await put(catalog, bucket, "key");
      const complete = { upload, object, parts: [one], now: NOW };
      expect(await catalog.completeUpload(complete)).toEqual({ outcome: "superseded" });
      expect((await catalog.findObject(bucket.id, KEY))?.seq).toBe(later.seq);
      expect(await garbage(catalog)).toEqual([object.root, address("a")].toSorted());
      expect((await catalog.completeUpload(complete)).outcome).toBe("completed");
    }),
  );

  test(
    "an aborted upload takes no more parts",
    using(open, async ({ catalog, bucket }) => {
      const upload = await begin(catalog, bucket);
      await add(catalog, upload, 1, ["a"]);
      expect(await catalog.abortUpload(upload, NOW)).toBe(true);
      expect(await garbage(catalog)).toEqual(addresses("a"));
      const late = { upload, part: part(2, await catalog.nextSeq()), contents: [], now: NOW };
      expect(await catalog.putPart(late)).toEqual({ outcome: "no-upload" });
      expect(await catalog.openUpload(upload)).toEqual({ parts: [], contents: [] });
    }),
  );

  test(
    "parts, Complete and Abort at once leave an object or nothing, and no content without one",
    using(open, async ({ catalog, bucket, reopen }) => {
      const catalogs = [catalog, await reopen()];
      for (let round = 0; round < 8; round++) {
        const key = `raced-${round}`;
        const upload = await begin(catalog, bucket, key);
        const one = await add(catalog, upload, 1, [`${key} one`]);
        const stored: string[] = [];
        await Promise.all([
          (async () => {
            const object = inline(await catalog.nextSeq(), { kind: "manifest" });
            await catalog.completeUpload({ upload, object, parts: [one], now: NOW });
          })(),
          round % 2 === 0 ? undefined : catalogs[1]!.abortUpload(upload, NOW),
          ...Array.from({ length: 8 }, async (_, i) => {
            const writer = catalogs[i % 2]!;
            const given = part(i + 2, await writer.nextSeq());
            const contents = [root(`${key} ${i}`)];
            const { outcome } = await writer.putPart({ upload, part: given, contents, now: NOW });
            if (outcome === "stored") stored.push(contents[0]!.address);
          }),
        ]);
        const object = await catalog.openObject(bucket.id, bytes(key));
        const found = await garbage(catalog);
        for (const address of stored) expect(found).toContain(address);
        expect(found.includes(address(`${key} one`))).toBe(object === undefined);
        expect(object === undefined || object.contents.length === 1).toBe(true);
      }
    }),
  );

  test(
    "parts that are copied count the content they share",
    using(open, async ({ catalog, bucket }) => {
      await putManifest(catalog, bucket, "a", ["x"]);
      const source = (await catalog.findObject(bucket.id, bytes("a")))!;
      const upload = await begin(catalog, bucket);
      for (const number of [1, 2]) {
        const given = part(number, await catalog.nextSeq());
        const copied = { upload, part: given, contents: [root("x")], source, now: NOW };
        expect(await catalog.putPart(copied)).toEqual({ outcome: "stored" });
      }
      await catalog.deleteObject(bucket.id, bytes("a"), { now: NOW });
      expect(await garbage(catalog)).toEqual([source.root]);
      const late = {
        upload,
        part: part(3, await catalog.nextSeq()),
        contents: [root("x")],
        source,
      };
      expect(await catalog.putPart({ ...late, now: NOW })).toEqual({ outcome: "source-changed" });
      await catalog.abortUpload(upload, NOW);
      expect(await garbage(catalog)).toEqual([source.root, address("x")].toSorted());
    }),
  );

  test(
    "takes 10,000 parts",
    using(open, async ({ catalog, bucket }) => {
      const upload = await begin(catalog, bucket);
      const first = await catalog.nextSeq();
      const parts = Array.from({ length: 10_000 }, (_, i) => part(i + 1, first + i));
      for (let at = 0; at < parts.length; at += 1000) {
        await Promise.all(
          parts.slice(at, at + 1000).map((part) => {
            const contents = [root(`${part.number}`)];
            return catalog.putPart({ upload, part, contents, now: NOW });
          }),
        );
      }
      const opened = await catalog.openUpload(upload);
      expect(opened.parts).toEqual(parts);
      expect(opened.contents).toHaveLength(10_000);
      await catalog.importRows([]);
      const object = inline(first + 20_000, { kind: "manifest" });
      const complete = { upload, object, parts, now: NOW };
      expect((await catalog.completeUpload(complete)).outcome).toBe("stored");
      const { contents } = (await catalog.openObject(bucket.id, KEY))!;
      expect(contents).toEqual(opened.contents);
      // Each range of it that is read opens it again.
      expect((await catalog.openObject(bucket.id, KEY))?.contents).toBe(contents);
      await catalog.commitPut(putOf(bucket, "key", inline(first + 30_000)));
      expect((await catalog.openObject(bucket.id, KEY))?.contents).toEqual([]);
      await catalog.deleteObject(bucket.id, KEY, { now: NOW });
    }),
    120_000,
  );

  test(
    "lists uploads by key and then time, with prefix, delimiter and markers",
    using(open, async ({ catalog, bucket }) => {
      const keys = ["a/1", "a/1", "a/1", "a/2", "b", "b", "c/1", "c/2", "d"];
      const uploads: Upload[] = [];
      for (const key of keys.toReversed()) uploads.push(await begin(catalog, bucket, key));
      const all = { bucket: bucket.id, prefix: bytes("") };
      const sorted = uploads
        .toSorted((a, b) => Buffer.compare(a.key, b.key) || a.seq - b.seq)
        .map(({ id }) => id);
      const first = await catalog.listUploads({ ...all, limit: 1000 });
      expect(first.entries.map(({ id }) => id)).toEqual(sorted);
      expect(first.entries[0]).toEqual(uploads.at(-3));
      for (const limit of [1, 2, 3, 5, 8, 9]) {
        expect((await listAll(catalog.listUploads, all, limit)).keys).toEqual(keys);
        const rolled = await listAll(catalog.listUploads, { ...all, delimiter: bytes("/") }, limit);
        expect(rolled).toMatchObject({ keys: ["b", "b", "d"], prefixes: ["a/", "c/"] });
        const below = await listAll(
          catalog.listUploads,
          { ...all, prefix: bytes("a/"), delimiter: bytes("/") },
          limit,
        );
        expect(below).toMatchObject({ keys: ["a/1", "a/1", "a/1", "a/2"], prefixes: [] });
      }
      // A marker without an ID skips all uploads of its key.
      const after = await catalog.listUploads({ ...all, after: bytes("a/1"), limit: 2 });
      expect(after.entries.map(({ key }) => key)).toEqual([bytes("a/2"), bytes("b")]);
    }),
  );
}
