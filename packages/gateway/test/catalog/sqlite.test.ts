import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Put } from "../../src/catalog/catalog.ts";
import { openSqlite } from "../../src/catalog/database/sqlite.ts";
import { type Job, openWriter } from "../../src/catalog/database/sqlite-writer.ts";
import { close, runGroup } from "../../src/catalog/database/sqlite-worker.ts";
import { createCatalog, openCatalog } from "../../src/catalog/open-catalog.ts";
import { catalogBehaviour } from "./behaviour/behaviour.ts";
import {
  bytes,
  inline,
  makeBucket,
  NOW,
  put,
  putOf,
  root,
  using,
  failureOf,
} from "./behaviour/fixture.ts";
import { openRecordedFixture, openSqliteFixture, sqliteRecorder } from "./sqlite-fixture.ts";

const WRITER = join(import.meta.dir, "writer.ts");

function start(...args: string[]) {
  return Bun.spawn([process.execPath, WRITER, ...args], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
}

describe("catalog in SQLite", () => {
  catalogBehaviour(openRecordedFixture);
  describe("with a writer in a thread", () => catalogBehaviour(openSqliteFixture));

  test(
    "a killed process loses nothing that it acknowledged",
    using(openSqliteFixture, async ({ bucket, catalog, path }) => {
      const acknowledged = new Map<string, { what: string; seq: number }>();
      let highest = 0;
      for (let round = 0; round < 8; round++) {
        const child = start("put", path, bucket.name, "key");
        const output = child.stdout.getReader();
        let said = "";
        const decoder = new TextDecoder();
        const end = Math.random() * 20_000;
        let latest = Infinity;
        // A slow disk acknowledges little in the time that a test has.
        while (said.length < end && performance.now() < latest) {
          const { value, done } = await output.read();
          if (done) throw new Error("the writer ended");
          said += decoder.decode(value, { stream: true });
          latest = Math.min(latest, performance.now() + 3000);
        }
        child.kill("SIGKILL");
        for (;;) {
          const { value, done } = await output.read();
          if (done) break;
          said += decoder.decode(value, { stream: true });
        }
        // The last line may be cut off.
        for (const line of said.split("\n").slice(1, -1)) {
          const [what, key, seq] = line.split(" ") as [string, string, string];
          expect(Number(seq)).toBeGreaterThan(acknowledged.get(key)?.seq ?? 0);
          acknowledged.set(key, { what, seq: Number(seq) });
          highest = Math.max(highest, Number(seq));
        }
        for (const [key, { what, seq }] of acknowledged) {
          const opened = await catalog.openObject(bucket.id, bytes(key));
          // A later write may have been committed and not acknowledged.
          if (opened === undefined) {
            if (what === "put") {
              const later = await catalog.pendingTombstones(seq, 1000);
              expect(
                later.some((tombstone) => Buffer.compare(tombstone.key, bytes(key)) === 0),
              ).toBe(true);
            }
            continue;
          }
          if (what === "put") expect(opened.object.seq).toBeGreaterThanOrEqual(seq);
          else expect(opened.object.seq).toBeGreaterThan(seq);
          expect(opened.contents).toHaveLength(1);
        }
        expect(await catalog.nextSeq()).toBeGreaterThan(highest);
      }
      expect(acknowledged.size).toBeGreaterThan(0);
      const check = new Database(path);
      expect(check.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
      check.close();
    }),
    120_000,
  );

  test(
    "of 64 conditional writes in each of two processes one wins",
    using(openSqliteFixture, async ({ bucket, path }) => {
      const children = [1, 2].map(() => start("claim", path, bucket.name, "raced"));
      const readers = children.map((child) => child.stdout.getReader());
      const first = await Promise.all(readers.map((reader) => reader.read()));
      for (const child of children) {
        await child.stdin.write("go\n");
        await child.stdin.end();
      }
      const said = await Promise.all(
        readers.map(async (reader, i) => {
          let text = new TextDecoder().decode(first[i]!.value);
          for (;;) {
            const { value, done } = await reader.read();
            if (done) return text;
            text += new TextDecoder().decode(value);
          }
        }),
      );
      const outcomes = said.flatMap((text) => text.trim().split("\n").slice(1));
      expect(outcomes).toHaveLength(128);
      expect(outcomes.filter((outcome) => outcome === "stored")).toHaveLength(1);
      expect(
        outcomes.filter((outcome) => /^(?:stored|conflict|failed)$/u.test(outcome)),
      ).toHaveLength(128);
    }),
    120_000,
  );

  test(
    "numbers stay higher than those given out before the machine stopped",
    using(openSqliteFixture, async ({ catalog, reopen, path }) => {
      const before = await catalog.nextSeq();
      // What has not reached the disk yet is gone.
      const direct = new Database(path);
      direct.run("UPDATE sequence SET given = given - 1");
      direct.close();
      expect(await (await reopen()).nextSeq()).toBeGreaterThan(before);
    }),
  );

  test(
    "a plan that fails changes nothing, and not the others of its group",
    using(openSqliteFixture, async ({ catalog, bucket }) => {
      const results = await Promise.allSettled([
        put(catalog, bucket, "a"),
        // Its content is added before the object is refused.
        catalog.commitPut(
          putOf(bucket, "b", inline(1_000_000, { kind: "manifest", etag: undefined as never }), {
            contents: [{ ...root("content"), part: 1 }],
          }),
        ),
        put(catalog, bucket, "c"),
      ]);
      expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      expect(await catalog.findObject(bucket.id, bytes("b"))).toBeUndefined();
      expect((await catalog.findKnown([root("content").address])).size).toBe(0);
      expect(await catalog.findObject(bucket.id, bytes("c"))).toBeDefined();
    }),
  );

  test(
    "a long transaction does not stop the process",
    using(openSqliteFixture, async ({ catalog, bucket }) => {
      const contents = Array.from({ length: 50_000 }, (_, i) => ({ ...root(`${i}`), part: 1 }));
      const shares: number[] = [];
      // The machine may stop the process for a while, but not each time.
      while (shares.length < 3 && !shares.some((share) => share < 1 / 3)) {
        const object = inline(await catalog.nextSeq(), { kind: "manifest" });
        const began = performance.now();
        let [last, longest] = [began, 0];
        let isOver = false;
        const put = putOf(bucket, "key", object, { contents });
        const putting = catalog.commitPut(put).finally(() => {
          isOver = true;
        });
        // What the call itself does here is to clone what it was given.
        last = performance.now();
        while (!isOver) {
          await new Promise((resolve) => setImmediate(resolve));
          longest = Math.max(longest, performance.now() - last);
          last = performance.now();
        }
        shares.push(longest / (last - began));
        expect((await putting).outcome).toBe("stored");
      }
      expect(Math.min(...shares)).toBeLessThan(1 / 3);
    }),
  );

  test(
    "a job of many rows is handed to the writer once, and small jobs together",
    using(openSqliteFixture, async ({ path, bucket }) => {
      const groups: (readonly Job[])[] = [];
      const database = await openSqlite(path, async (path) => {
        const writer = await openWriter(path);
        return {
          ...writer,
          async run(jobs) {
            groups.push(jobs);
            return writer.run(jobs);
          },
        };
      });
      const catalog = await createCatalog(database);
      // Each takes longer than a group may run.
      const contents = Array.from({ length: 5000 }, (_, i) => ({ ...root(`${i}`), part: 1 }));
      const first = await catalog.nextSeq();
      const puts = Array.from({ length: 12 }, (_, i) => {
        if (i % 3 > 0) return catalog.commitPut(putOf(bucket, `key ${i}`, inline(first + i)));
        const object = inline(first + i, { kind: "manifest" });
        return catalog.commitPut(putOf(bucket, `key ${i}`, object, { contents }));
      });
      const outcomes = await Promise.all(puts);
      expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(["stored"]));
      const isLong = (job: Job) =>
        job.type === "change" &&
        (job.given[0] as Partial<Put>).contents?.length === contents.length;
      const long = groups.filter((group) => group.some(isLong)).map(({ length }) => length);
      expect(long).toEqual([1, 1, 1, 1]);
      expect(groups.some(({ length }) => length === 2)).toBe(true);
      await database.close();
    }),
  );

  test(
    "a thread opens the catalog with its first group, and again if that failed",
    using(openSqliteFixture, async ({ path, catalog }) => {
      const jobs = [{ type: "take", row: undefined }] as const;
      const failed = await runGroup({ path: "/nowhere/catalog", jobs });
      expect(failed).toMatchObject([{ code: "unavailable" }]);
      const [taken] = (await runGroup({ path, jobs })) as [{ value: number }];
      expect(taken.value).toBeGreaterThan(0);
      expect(await catalog.nextSeq()).toBeGreaterThan(taken.value);
      await close();
    }),
  );

  test("only the owner may read the file", async () => {
    const fixture = await openSqliteFixture();
    for (const suffix of ["", "-wal"]) {
      expect((await stat(fixture.path + suffix)).mode & 0o777).toBe(0o600);
    }
    await fixture.cleanup();
  });

  test("many that open a new catalog at once make it once", async () => {
    const fixture = await openSqliteFixture();
    const path = `${fixture.path}-new`;
    const catalogs = await Promise.all(Array.from({ length: 8 }, () => openCatalog(path)));
    const uuids = await Promise.all(
      catalogs.map(async (catalog) => (await catalog.lineage()).uuid),
    );
    expect(new Set(uuids).size).toBe(1);
    for (const catalog of catalogs) await catalog.close();
    await fixture.cleanup();
  });

  test("goes on with a catalog of the first version", async () => {
    const fixture = await openSqliteFixture();
    const path = `${fixture.path}-old`;
    const first = await openCatalog(path);
    const bucket = await makeBucket(first, "bucket");
    await put(first, bucket, "key");
    const before = await first.findObject(bucket.id, bytes("key"));
    await first.close();
    const direct = new Database(path);
    direct.run("ALTER TABLE objects DROP COLUMN reserved; PRAGMA user_version = 1");
    direct.close();
    const catalog = await openCatalog(path);
    expect(await catalog.findObject(bucket.id, bytes("key"))).toEqual(before);
    await put(catalog, bucket, "key");
    await catalog.close();
    await fixture.cleanup();
  });

  test("refuses a catalog of a newer version, and a file that is none", async () => {
    const fixture = await openSqliteFixture();
    const direct = new Database(fixture.path);
    direct.run("PRAGMA user_version = 99");
    direct.close();
    expect(await failureOf(fixture.reopen())).toMatchObject({ code: "version" });
    const path = `${fixture.path}-text`;
    await writeFile(path, "This is no database, and too long to be an empty one.".repeat(100));
    expect(await failureOf(openCatalog(path))).toMatchObject({ code: "damaged" });
    expect(await failureOf(openCatalog("/nowhere/catalog"))).toMatchObject({ code: "unavailable" });
    await fixture.cleanup();
  });

  // A database keeps each statement that it has prepared.
  test(
    "a list runs the same statements, however long its prefix is",
    using(openRecordedFixture, async ({ catalog, bucket }) => {
      const list = async (length: number) => {
        const prefix = "p".repeat(length);
        const key = bytes(`${prefix}/1`);
        await put(catalog, bucket, `${prefix}/1`);
        const given = { owner: "", time: NOW, headers: {}, tags: [], options: {} };
        await catalog.createUpload({ bucket: bucket.id, key, ...given });
        const options = { bucket: bucket.id, prefix: bytes(prefix), delimiter: bytes("/") };
        for (const page of [
          await catalog.listObjects({ ...options, limit: 10 }),
          await catalog.listUploads({ ...options, limit: 10 }),
        ]) {
          expect(page.prefixes).toContainEqual(bytes(`${prefix}/`));
        }
        return sqliteRecorder.statements.size;
      };
      const before = await list(100);
      expect(await list(101)).toBe(before);
      expect(await list(1000)).toBe(before);
    }),
  );

  // The last one: it looks at what the others have run.
  test("every statement uses an index", async () => {
    expect(sqliteRecorder.statements.size).toBeGreaterThan(50);
    const fixture = await openSqliteFixture();
    const direct = new Database(fixture.path);
    const scans = new Map<string, string>();
    for (const { sql, values } of sqliteRecorder.statements.values()) {
      // Counts end at a limit.
      if (sql.startsWith("SELECT COUNT(*) AS n")) continue;
      const plan = direct.query(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[];
      for (const { detail } of plan) {
        const isScan = /^SCAN (?!walk|gone|CONSTANT|\(|\d)/u.test(detail);
        // The first row of an index, and what has at most as many rows as a page or as there are writers.
        const isFirst = detail.includes("USING COVERING INDEX") && sql.endsWith("LIMIT 1");
        const isSort = detail.startsWith("USE TEMP B-TREE FOR ORDER BY");
        const isShort = sql.includes("FROM walk") || sql.includes("FROM writes");
        if ((isScan && !isFirst) || (isSort && !isShort)) scans.set(sql, detail);
      }
    }
    expect(Object.fromEntries(scans)).toEqual({});
    direct.close();
    await fixture.cleanup();
  });
});
