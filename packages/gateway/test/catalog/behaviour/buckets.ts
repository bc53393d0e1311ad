import { expect, test } from "bun:test";
import { bytes, garbage, makeBucket, NOW, part, put, root, using } from "./fixture.ts";
import { addresses, type OpenFixture } from "./fixture.ts";

export function bucketBehaviour(open: OpenFixture): void {
  test(
    "makes a bucket once, and finds it",
    using(open, async ({ catalog, bucket, reopen }) => {
      expect(bucket).toMatchObject({
        name: "bucket",
        owner: "owner",
        region: "eu-north-1",
        time: NOW,
      });
      const again = await catalog.createBucket({ ...bucket, owner: "another" });
      expect(again).toEqual({ outcome: "exists", bucket });
      expect(await (await reopen()).findBucket("bucket")).toEqual(bucket);
      expect(await catalog.findBucket("none")).toBeUndefined();
    }),
  );

  test(
    "of many that make a bucket at once, one does",
    using(open, async ({ catalog, reopen }) => {
      const catalogs = [catalog, await reopen()];
      const made = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          catalogs[i % 2]!.createBucket({ name: "raced", owner: `${i}`, region: "", time: NOW }),
        ),
      );
      expect(made.filter(({ outcome }) => outcome === "created")).toHaveLength(1);
      expect(new Set(made.map(({ bucket }) => bucket.owner)).size).toBe(1);
    }),
  );

  test(
    "deletes only an empty bucket, and one made anew has nothing of it",
    using(open, async ({ catalog, bucket }) => {
      await put(catalog, bucket, "key");
      expect(await catalog.deleteBucket(bucket.id, NOW)).toBe("not-empty");
      await catalog.deleteObject(bucket.id, bytes("key"), { now: NOW });
      expect(await catalog.deleteBucket(bucket.id, NOW)).toBe("deleted");
      expect(await catalog.deleteBucket(bucket.id, NOW)).toBe("absent");
      const queued = { bucket: bucket.id, key: bytes(""), seq: bucket.id, bucketName: "bucket" };
      expect(await catalog.pendingTombstones(0, 10)).toContainEqual({ ...queued, time: NOW });
      expect(await catalog.findBucket("bucket")).toBeUndefined();
      const anew = await makeBucket(catalog, "bucket");
      expect(anew.id).toBeGreaterThan(bucket.id);
    }),
  );

  test(
    "buckets are pending until they are confirmed",
    using(open, async ({ catalog, bucket }) => {
      const other = await makeBucket(catalog, "other");
      expect(await catalog.pendingBuckets()).toEqual([bucket, other]);
      await catalog.confirmBucket(bucket.id);
      expect(await catalog.pendingBuckets()).toEqual([other]);
    }),
  );

  test(
    "deleting a bucket aborts its uploads",
    using(open, async ({ catalog, bucket }) => {
      const names = Array.from({ length: 25 }, (_, i) => `content-${i}`);
      const ids: string[] = [];
      for (const name of names) {
        const upload = (await catalog.createUpload({
          bucket: bucket.id,
          key: bytes("key"),
          owner: "owner",
          time: NOW,
          headers: {},
          tags: [],
          options: {},
        }))!;
        const seq = await catalog.nextSeq();
        await catalog.putPart({ upload, part: part(1, seq), contents: [root(name)], now: NOW });
        ids.push(upload.id);
      }
      expect(await catalog.deleteBucket(bucket.id, NOW)).toBe("deleted");
      expect(await garbage(catalog)).toEqual(addresses(...names));
      for (const id of ids) {
        expect(await catalog.findUpload(bucket.id, bytes("key"), id)).toBeUndefined();
      }
      expect(await catalog.deleteBucket(bucket.id, NOW)).toBe("absent");
    }),
  );

  test(
    "no object gets into a bucket that is being deleted",
    using(open, async ({ catalog, bucket, reopen }) => {
      const other = await reopen();
      for (let round = 0; round < 10; round++) {
        const raced = await makeBucket(catalog, `raced-${round}`);
        const [stored, deleted] = await Promise.all([
          put(other, raced, "key").then(
            () => true,
            () => false,
          ),
          catalog.deleteBucket(raced.id, NOW),
        ]);
        expect(deleted).toBe(stored ? "not-empty" : "deleted");
      }
      expect(await catalog.findBucket(bucket.name)).toEqual(bucket);
    }),
  );

  test(
    "lists buckets by name, with a prefix, page by page",
    using(open, async ({ catalog }) => {
      // An order that dictionaries do not have.
      for (const name of ["b-1", "b.1", "b1", "ba", "a", "c"]) await makeBucket(catalog, name);
      const names = async (options?: Parameters<typeof catalog.listBuckets>[0]) =>
        (await catalog.listBuckets(options)).map(({ name }) => name);
      expect(await names()).toEqual(["a", "b-1", "b.1", "b1", "ba", "bucket", "c"]);
      expect(await names({ prefix: "b", after: "b.1", limit: 2 })).toEqual(["b1", "ba"]);
      expect(await names({ prefix: "ba" })).toEqual(["ba"]);
    }),
  );
}
