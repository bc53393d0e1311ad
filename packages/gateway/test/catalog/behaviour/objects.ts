import { expect, test } from "bun:test";
import { CONTENT_DELAY } from "../../../src/catalog/catalog.ts";
import {
  address,
  addresses,
  bytes,
  garbage,
  HOUR,
  inline,
  NOW,
  part,
  put,
  putManifest,
  putOf,
  root,
  SECOND,
  using,
  type OpenFixture,
} from "./fixture.ts";

export function objectBehaviour(open: OpenFixture): void {
  test(
    "gives out numbers once, in order, over several catalogs",
    using(open, async ({ catalog, reopen }) => {
      const catalogs = [catalog, await reopen()];
      const given = await Promise.all(
        Array.from({ length: 200 }, (_, i) => catalogs[i % 2]!.nextSeq()),
      );
      expect(new Set(given).size).toBe(200);
      let last = Math.max(...given);
      for (let i = 0; i < 20; i++) {
        const next = await catalogs[i % 2]!.nextSeq();
        expect(next).toBeGreaterThan(last);
        last = next;
      }
    }),
  );

  test(
    "returns what was put, also to another catalog",
    using(open, async ({ catalog, bucket, reopen }) => {
      const object = await put(catalog, bucket, "a/ü", { size: 2 ** 40 });
      const stored = { ...object, bucket: bucket.id, key: bytes("a/ü"), parts: 0 };
      expect(await catalog.findObject(bucket.id, bytes("a/ü"))).toEqual(stored);
      expect(await (await reopen()).openObject(bucket.id, bytes("a/ü"))).toEqual({
        object: stored,
        contents: [],
      });
      expect(await catalog.findObject(bucket.id, bytes("a/u"))).toBeUndefined();
      expect(await catalog.openObject(bucket.id + 1, bytes("a/ü"))).toBeUndefined();
    }),
  );

  test(
    "takes any bytes as a key, and up to 1,024",
    using(open, async ({ catalog, bucket }) => {
      for (const key of [
        Uint8Array.of(0),
        Uint8Array.of(255, 0, 39),
        new Uint8Array(1024).fill(250),
      ]) {
        const object = inline(await catalog.nextSeq());
        await catalog.commitPut({ ...putOf(bucket, "", object), key });
        expect((await catalog.findObject(bucket.id, key))?.seq).toBe(object.seq);
      }
    }),
  );

  test(
    "an overwrite makes garbage of the old roots",
    using(open, async ({ catalog, bucket }) => {
      const first = await putManifest(catalog, bucket, "key", ["a", "b"]);
      expect(await garbage(catalog)).toEqual([]);
      const object = inline(await catalog.nextSeq());
      const outcome = await catalog.commitPut(putOf(bucket, "key", object));
      expect(outcome).toMatchObject({ outcome: "stored", replaced: { seq: first.seq } });
      // The manifest at once; the content when no read can need it any more.
      const due = (at: number) => catalog.dueGarbage(at, 100);
      expect(await due(NOW)).toEqual([{ address: first.root, kind: "identity", due: NOW }]);
      expect(await due(NOW + CONTENT_DELAY - 1)).toHaveLength(1);
      expect((await due(NOW + HOUR)).map(({ kind }) => kind)).toEqual([
        "identity",
        "content",
        "content",
      ]);
      expect(await garbage(catalog)).toEqual([first.root, ...addresses("a", "b")].toSorted());
      const pages: string[] = [];
      let last: Awaited<ReturnType<typeof due>>[number] | undefined;
      do {
        [last] = await catalog.dueGarbage(NOW + HOUR, 1, last);
        if (last !== undefined) pages.push(last.address);
      } while (last !== undefined);
      expect(pages).toEqual([first.root, ...addresses("a", "b")]);
      await catalog.confirmGarbage(addresses("a") as never);
      expect(await garbage(catalog)).toEqual([first.root, ...addresses("b")].toSorted());
    }),
  );

  test(
    "of two writes the one with the higher seq stays, whatever order they come in",
    using(open, async ({ catalog, bucket }) => {
      const [early, late] = [await catalog.nextSeq(), await catalog.nextSeq()];
      await catalog.commitPut(putOf(bucket, "key", inline(late)));
      const object = inline(early, { kind: "manifest" });
      const contents = [{ ...root("late content"), part: 1 }];
      expect(await catalog.commitPut(putOf(bucket, "key", object, { contents }))).toEqual({
        outcome: "superseded",
      });
      expect((await catalog.findObject(bucket.id, bytes("key")))?.seq).toBe(late);
      expect(await garbage(catalog)).toEqual([object.root, address("late content")].toSorted());
    }),
  );

  test(
    "of 64 writes of a key at once the last number stays, over two catalogs",
    using(open, async ({ catalog, bucket, reopen }) => {
      const catalogs = [catalog, await reopen()];
      const objects = await Promise.all(
        Array.from({ length: 64 }, async (_, i) => {
          const writer = catalogs[i % 2]!;
          const object = inline(await writer.nextSeq());
          await writer.commitPut(putOf(bucket, "key", object));
          return object;
        }),
      );
      const last = objects.toSorted((a, b) => b.seq - a.seq);
      expect((await catalog.findObject(bucket.id, bytes("key")))?.seq).toBe(last[0]!.seq);
      expect(await garbage(catalog)).toEqual(
        last
          .slice(1)
          .map(({ root }) => root)
          .toSorted(),
      );
    }),
  );

  test(
    "a commit may be repeated",
    using(open, async ({ catalog, bucket }) => {
      const object = inline(await catalog.nextSeq(), { kind: "manifest" });
      const contents = [{ ...root("content"), part: 1 }];
      for (let i = 0; i < 2; i++) {
        const { outcome } = await catalog.commitPut(putOf(bucket, "key", object, { contents }));
        expect(outcome).toBe("stored");
      }
      expect(await garbage(catalog)).toEqual([]);
      expect((await catalog.openObject(bucket.id, bytes("key")))?.contents).toEqual(contents);
    }),
  );

  test(
    "refuses a put into a bucket that is gone",
    using(open, async ({ catalog, bucket }) => {
      await catalog.deleteBucket(bucket.id, NOW);
      const object = inline(await catalog.nextSeq());
      expect(await catalog.commitPut(putOf(bucket, "key", object))).toEqual({
        outcome: "no-bucket",
      });
      const deleted = await catalog.deleteObject(bucket.id, bytes("key"), { now: NOW });
      expect(deleted).toEqual({ outcome: "no-bucket" });
    }),
  );

  test(
    "deletes an object, and leaves a tombstone until it is confirmed",
    using(open, async ({ catalog, bucket }) => {
      const object = await putManifest(catalog, bucket, "key", ["a"]);
      const deleted = await catalog.deleteObject(bucket.id, bytes("key"), { now: NOW + 1 });
      if (deleted.outcome !== "deleted") throw new Error(deleted.outcome);
      expect(deleted.object?.seq).toBe(object.seq);
      const { tombstone } = deleted;
      expect(tombstone).toEqual({
        bucket: bucket.id,
        bucketName: "bucket",
        key: bytes("key"),
        seq: tombstone.seq,
        time: NOW + 1,
      });
      expect(tombstone.seq).toBeGreaterThan(object.seq);
      expect(await catalog.findObject(bucket.id, bytes("key"))).toBeUndefined();
      expect(await garbage(catalog)).toEqual([object.root, ...addresses("a")].toSorted());
      expect(await catalog.pendingTombstones(0, 10)).toEqual([tombstone]);
      expect(await catalog.pendingTombstones(tombstone.seq, 10)).toEqual([]);
      await catalog.confirmTombstones([tombstone.seq]);
      expect(await catalog.pendingTombstones(0, 10)).toEqual([]);
    }),
  );

  test(
    "a write that is older than a deletion comes too late",
    using(open, async ({ catalog, bucket }) => {
      const object = inline(await catalog.nextSeq());
      const deleted = await catalog.deleteObject(bucket.id, bytes("key"), { now: NOW });
      expect(deleted).toMatchObject({ outcome: "deleted", object: undefined });
      expect(await catalog.commitPut(putOf(bucket, "key", object))).toEqual({
        outcome: "superseded",
      });
      expect(await catalog.findObject(bucket.id, bytes("key"))).toBeUndefined();
      expect(await garbage(catalog)).toEqual([object.root]);
      await put(catalog, bucket, "key");
      expect(await catalog.findObject(bucket.id, bytes("key"))).toBeDefined();
    }),
  );

  test(
    "deletes under a condition",
    using(open, async ({ catalog, bucket }) => {
      const object = await put(catalog, bucket, "key");
      const deletion = async (key: string, condition: object) =>
        (await catalog.deleteObject(bucket.id, bytes(key), { condition, now: NOW })).outcome;
      expect(await deletion("key", { ifMatch: ["other"] })).toBe("failed");
      expect(await deletion("key", { ifSize: 6 })).toBe("failed");
      expect(await deletion("key", { ifTime: NOW + SECOND })).toBe("failed");
      expect(await deletion("none", { ifMatch: ["*"] })).toBe("absent");
      expect(await deletion("none", { ifMatch: [object.etag] })).toBe("absent");
      expect(await catalog.findObject(bucket.id, bytes("key"))).toBeDefined();
      expect(await deletion("key", { ifMatch: ["x", object.etag], ifSize: 5, ifTime: NOW })).toBe(
        "deleted",
      );
    }),
  );

  test(
    "deletes many, with a result for each in their order",
    using(open, async ({ catalog, bucket, reopen }) => {
      const keys = Array.from({ length: 130 }, (_, i) => `key-${i}`);
      await Promise.all(keys.map((key) => put(catalog, bucket, key)));
      const refused = { key: bytes("key-77"), condition: { ifMatch: ["other"] } };
      const list = [...keys, "none"].map((key) =>
        key === "key-77" ? refused : { key: bytes(key) },
      );
      // Two that delete the same, in opposite orders.
      const other = await reopen();
      const [one, two] = await Promise.all([
        catalog.deleteObjects(bucket.id, list, { now: NOW }),
        other.deleteObjects(bucket.id, list.toReversed(), { now: NOW }),
      ]);
      expect(one).toHaveLength(131);
      expect(one[77]).toEqual({ outcome: "failed" });
      for (const [i, result] of one.entries()) {
        if (i === 77) continue;
        const twice = two.at(-1 - i)!;
        if (result.outcome !== "deleted" || twice.outcome !== "deleted") throw new Error("refused");
        const found = [result.object, twice.object].filter((object) => object !== undefined);
        expect(found).toHaveLength(i === 130 ? 0 : 1);
        expect(result.tombstone.key).toEqual(list[i]!.key);
      }
      const page = await catalog.listObjects({ bucket: bucket.id, prefix: bytes(""), limit: 10 });
      expect(page.entries.map(({ key }) => key)).toEqual([bytes("key-77")]);
    }),
  );

  test(
    "changes the tags of one version",
    using(open, async ({ catalog, bucket }) => {
      await put(catalog, bucket, "key");
      const object = (await catalog.findObject(bucket.id, bytes("key")))!;
      expect(await catalog.setTags(object, [["ä", ""]])).toBe(true);
      expect((await catalog.findObject(bucket.id, bytes("key")))?.tags).toEqual([["ä", ""]]);
      await put(catalog, bucket, "key");
      expect(await catalog.setTags(object, [])).toBe(false);
    }),
  );

  copyBehaviour(open);
}

function copyBehaviour(open: OpenFixture): void {
  test(
    "content that copies share is garbage after the last of them",
    using(open, async ({ catalog, bucket }) => {
      await putManifest(catalog, bucket, "a", ["x", "y"]);
      const source = (await catalog.findObject(bucket.id, bytes("a")))!;
      await putManifest(catalog, bucket, "b", ["x", "y"], { source });
      const copy = (await catalog.findObject(bucket.id, bytes("b")))!;
      // One root twice, as when a part is copied twice.
      await putManifest(catalog, bucket, "c", ["y", "y"], { source: copy });
      const remove = (key: string) => catalog.deleteObject(bucket.id, bytes(key), { now: NOW });
      const content = async () => {
        const all = await catalog.dueGarbage(NOW + HOUR, 100);
        return all.filter(({ kind }) => kind === "content").map(({ address }) => address);
      };
      await remove("a");
      expect(await content()).toEqual([]);
      await remove("b");
      expect(await content()).toEqual([address("x")]);
      await remove("c");
      expect((await content()).toSorted()).toEqual(addresses("x", "y") as never);
    }),
  );

  test(
    "a copy of an object onto itself keeps its content",
    using(open, async ({ catalog, bucket }) => {
      await putManifest(catalog, bucket, "a", ["x"]);
      const source = (await catalog.findObject(bucket.id, bytes("a")))!;
      await putManifest(catalog, bucket, "a", ["x"], { source });
      expect(await garbage(catalog)).toEqual([source.root]);
      const opened = await catalog.openObject(bucket.id, bytes("a"));
      expect(opened?.contents.map(({ address }) => address)).toEqual([address("x")]);
      await catalog.deleteObject(bucket.id, bytes("a"), { now: NOW });
      expect(await garbage(catalog)).toContain(address("x"));
    }),
  );

  test(
    "a copy whose source was replaced meanwhile is refused",
    using(open, async ({ catalog, bucket }) => {
      await putManifest(catalog, bucket, "a", ["x"]);
      const source = (await catalog.findObject(bucket.id, bytes("a")))!;
      await put(catalog, bucket, "a");
      const object = inline(await catalog.nextSeq(), { kind: "manifest" });
      const contents = [{ ...root("x"), part: 1 }];
      expect(await catalog.commitPut(putOf(bucket, "b", object, { contents, source }))).toEqual({
        outcome: "source-changed",
      });
      expect(await catalog.findObject(bucket.id, bytes("b"))).toBeUndefined();
    }),
  );

  test(
    "copies and deletions at once lose no content that an object has, and keep none that none has",
    using(open, async ({ catalog, bucket, reopen }) => {
      const catalogs = [catalog, await reopen()];
      for (let round = 0; round < 5; round++) {
        const name = `shared-${round}`;
        await putManifest(catalog, bucket, "0", [name]);
        await Promise.all(
          Array.from({ length: 24 }, async (_, i) => {
            const writer = catalogs[i % 2]!;
            const [from, to] = [bytes(`${i % 3}`), `${(i * 7) % 4}`];
            const source = await writer.findObject(bucket.id, from);
            if (i % 4 === 3) await writer.deleteObject(bucket.id, from, { now: NOW });
            else if (source !== undefined) {
              await putManifest(writer, bucket, to, [name], { source }).catch(() => {});
            }
          }),
        );
        const isGarbage = (await garbage(catalog)).includes(address(name));
        const page = await catalog.listObjects({ bucket: bucket.id, prefix: bytes(""), limit: 10 });
        expect(isGarbage).toBe(page.entries.length === 0);
        for (const { key } of page.entries)
          await catalog.deleteObject(bucket.id, key, { now: NOW });
        expect(await garbage(catalog)).toContain(address(name));
      }
    }),
  );

  test(
    "keeps the part boundaries of a copy",
    using(open, async ({ catalog, bucket }) => {
      await putManifest(catalog, bucket, "a", ["x"]);
      const source = (await catalog.findObject(bucket.id, bytes("a")))!;
      const parts = [part(2, source.seq, 60), part(5, source.seq, 40)];
      const contents = [
        { ...root("x"), part: 2 },
        { ...root("x"), part: 5 },
      ];
      await putManifest(catalog, bucket, "b", [], { source, parts, contents });
      const opened = (await catalog.openObject(bucket.id, bytes("b")))!;
      expect(opened.contents).toEqual(contents);
      expect(opened.object.parts).toBe(2);
      expect(await catalog.listObjectParts(opened.object, 0, 10)).toEqual(parts);
      expect(await catalog.listObjectParts(opened.object, 2, 10)).toEqual(parts.slice(1));
    }),
  );
}
