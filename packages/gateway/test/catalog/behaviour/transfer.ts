import { expect, test } from "bun:test";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import type { ExportedRow } from "../../../src/catalog/records.ts";
import {
  address,
  bytes,
  fill,
  garbage,
  inline,
  makeBucket,
  NOW,
  part,
  put,
  putManifest,
  root,
  using,
  type OpenFixture,
  failureOf,
} from "./fixture.ts";
import { begin } from "./uploads.ts";

async function exported(catalog: Catalog): Promise<ExportedRow[]> {
  return Array.fromAsync(catalog.exportRows());
}

export function transferBehaviour(open: OpenFixture): void {
  test(
    "an export makes an equal catalog",
    using(open, async ({ catalog, bucket }) => {
      await put(catalog, bucket, "inline");
      await putManifest(catalog, bucket, "manifest", ["x", "y"]);
      const source = (await catalog.findObject(bucket.id, bytes("manifest")))!;
      await putManifest(catalog, bucket, "copy", ["x", "y"], { source });
      const other = await makeBucket(catalog, "another");
      for (const key of ["completed", "running"]) {
        const upload = await begin(catalog, other, key);
        const parts = [part(1, await catalog.nextSeq()), part(7, await catalog.nextSeq())];
        for (const given of parts) {
          const contents = [root(`${key} ${given.number}`), root(`${key} ${given.number} b`)];
          await catalog.putPart({ upload, part: given, contents, now: NOW });
        }
        if (key === "running") continue;
        const object = inline(await catalog.nextSeq(), { kind: "manifest" });
        await catalog.completeUpload({ upload, object, parts, now: NOW });
      }
      const rows = await exported(catalog);
      expect(rows.map(({ type }) => type)).toEqual([
        "bucket",
        "object",
        "object",
        "object",
        "bucket",
        "object",
        "upload",
        "part",
        "part",
      ]);
      const fresh = await open();
      try {
        // Twice, because an import may be repeated.
        for (let i = 0; i < 2; i++) await fresh.catalog.importRows(rows);
        expect(await exported(fresh.catalog)).toEqual(rows);
        expect(await fresh.catalog.nextSeq()).toBeGreaterThan(
          Math.max(...rows.map((row) => (row.type === "object" ? row.object.seq : 0))),
        );
        // Shared content is counted in the new one too.
        await fresh.catalog.deleteObject(bucket.id, bytes("manifest"), { now: NOW });
        expect(await garbage(fresh.catalog)).toEqual([source.root]);
        await fresh.catalog.deleteObject(bucket.id, bytes("copy"), { now: NOW });
        expect(await garbage(fresh.catalog)).toContain(address("x"));
        // And the upload goes on.
        const [upload] = rows.flatMap((row) => (row.type === "upload" ? [row.upload] : []));
        const parts = await fresh.catalog.listParts(upload!, 0, 10);
        const object = inline(await fresh.catalog.nextSeq(), { kind: "manifest" });
        const complete = { upload: upload!, object, parts, now: NOW };
        expect((await fresh.catalog.completeUpload(complete)).outcome).toBe("stored");
      } finally {
        await fresh.cleanup();
      }
    }),
  );

  test(
    "an import keeps what is newer",
    using(open, async ({ catalog, bucket }) => {
      const old = await put(catalog, bucket, "key");
      const rows = await exported(catalog);
      const newer = await put(catalog, bucket, "key");
      await catalog.importRows(rows);
      expect((await catalog.findObject(bucket.id, bytes("key")))?.seq).toBe(newer.seq);
      expect(await garbage(catalog)).toEqual([old.root]);
      const row = rows.find((row) => row.type === "object")!;
      const object = { ...row.object, seq: newer.seq + 1_000_000, root: address("imported") };
      await catalog.importRows([{ ...row, object }]);
      expect(await catalog.findObject(bucket.id, bytes("key"))).toEqual(object);
      expect(await garbage(catalog)).toEqual([old.root, newer.root].toSorted());
      expect(await catalog.nextSeq()).toBeGreaterThan(object.seq);
    }),
  );

  test(
    "refuses to import into another bucket of the name, or without one",
    using(open, async ({ catalog, bucket }) => {
      const rows: ExportedRow[] = [{ type: "bucket", bucket: { ...bucket, id: bucket.id + 7 } }];
      expect(await failureOf(catalog.importRows(rows))).toMatchObject({ code: "usage" });
      await put(catalog, bucket, "key");
      const [, object] = await exported(catalog);
      const fresh = await open();
      expect(await failureOf(fresh.catalog.importRows([object!]))).toMatchObject({ code: "usage" });
      await fresh.cleanup();
    }),
  );

  test(
    "exports more than a page",
    using(open, async ({ catalog, bucket }) => {
      const keys = Array.from({ length: 1203 }, (_, i) => `key-${i}`);
      await fill(catalog, bucket, keys.map(bytes));
      const rows = await exported(catalog);
      const found = rows.flatMap((row) => (row.type === "object" ? [row.object.key] : []));
      expect(found).toEqual(keys.toSorted().map(bytes));
    }),
  );

  test(
    "knows which addresses a row names",
    using(open, async ({ catalog, bucket }) => {
      const object = await putManifest(catalog, bucket, "key", ["x"]);
      const gone = await put(catalog, bucket, "gone");
      await catalog.deleteObject(bucket.id, bytes("gone"), { now: NOW });
      await catalog.addGarbage([{ address: address("failed"), kind: "content", due: NOW }]);
      const upload = await begin(catalog, bucket);
      const given = part(1, await catalog.nextSeq());
      await catalog.putPart({ upload, part: given, contents: [root("part")], now: NOW });
      const known = [object.root, gone.root, ...["x", "failed", "part"].map(address)];
      const unknown = Array.from({ length: 995 }, (_, i) => address(`unknown ${i}`));
      const found = await catalog.findKnown([...unknown, ...known]);
      expect([...found].toSorted()).toEqual(known.toSorted());
      expect((await catalog.findKnown([])).size).toBe(0);
      const named = [object.root, ...["x", "part"].map(address)];
      expect([...(await catalog.findNamed(known))].toSorted()).toEqual(named.toSorted());
    }),
  );

  test(
    "remembers its lineage",
    using(open, async ({ catalog, reopen }) => {
      const lineage = await catalog.lineage();
      expect(lineage).toEqual({
        uuid: lineage.uuid,
        store: undefined,
        isComplete: true,
        settled: 0,
        snapshot: undefined,
      });
      const snapshot = { seq: 7, time: NOW, name: "name" };
      await catalog.recordSnapshot(snapshot);
      // Another process was slower.
      await catalog.recordSnapshot({ ...snapshot, seq: 6, name: "older" });
      await catalog.setComplete(false);
      const other = await reopen();
      expect(await other.lineage()).toEqual({ ...lineage, isComplete: false, snapshot });
      await other.setComplete(true);
      expect((await catalog.lineage()).isComplete).toBe(true);
      const stores = await Promise.all([catalog.bindStore("a"), other.bindStore("b")]);
      expect(new Set(stores).size).toBe(1);
      expect((await catalog.lineage()).store).toBe(stores[0]);
    }),
  );

  test(
    "numbers marks, and goes on far above what was given out",
    using(open, async ({ catalog, reopen }) => {
      const other = await reopen();
      const before = await catalog.nextSeq();
      const nonces = Array.from({ length: 20 }, (_, i) => `nonce ${i}`);
      const numbers = await Promise.all(
        nonces.map((nonce, i) => (i % 2 === 0 ? catalog : other).addMark(nonce, 0)),
      );
      expect(numbers.toSorted((a, b) => a - b)).toEqual(nonces.map((_, i) => i + 1));
      const marks = nonces.map((nonce, i) => ({ number: numbers[i]!, nonce }));
      expect([...(await other.listMarks())]).toEqual(marks.toSorted((a, b) => a.number - b.number));
      await catalog.importMark({ number: 70, nonce: "imported" });
      expect((await catalog.listMarks()).map(({ number }) => number)).toEqual([
        ...nonces.map((_, i) => i + 1).filter((number) => number > 70 - 64),
        70,
      ]);
      expect(await catalog.addMark("last", 1_000_000)).toBe(71);
      expect(await catalog.nextSeq()).toBeGreaterThan(before + 1_000_000);
    }),
  );

  test(
    "counts what is queued",
    using(open, async ({ catalog, bucket }) => {
      await begin(catalog, bucket);
      await catalog.beginWrite(NOW);
      await put(catalog, bucket, "key");
      await catalog.deleteObject(bucket.id, bytes("key"), { now: NOW });
      await catalog.claim(bucket.id, bytes("other"), { ifNoneMatch: ["*"] }, NOW);
      expect(await catalog.counts()).toEqual({
        garbage: 1,
        tombstones: 1,
        uploads: 1,
        writes: 2,
        claims: 1,
      });
      expect(catalog.queued()).toBe(0);
      const putting = put(catalog, bucket, "key");
      expect(catalog.queued()).toBe(1);
      await putting;
      expect(catalog.queued()).toBe(0);
      await catalog.ping();
    }),
  );

  test(
    "refuses to be used after it was closed",
    using(open, async ({ reopen }) => {
      const other = await reopen();
      await other.close();
      expect(await failureOf(other.nextSeq())).toMatchObject({ name: "CatalogError" });
      expect(await failureOf(other.ping())).toMatchObject({ name: "CatalogError" });
    }),
  );
}
