import { afterAll, expect, test } from "bun:test";
import { SQL } from "bun";
import { changesOf } from "../../src/catalog/changes.ts";
import { openPostgres } from "../../src/catalog/database/postgres.ts";
import { rows } from "../../src/catalog/database/port.ts";
import { openCatalog } from "../../src/catalog/open-catalog.ts";
import { requireServer } from "../../../../tests/servers/require-server.ts";
import { catalogBehaviour } from "./behaviour/behaviour.ts";
import { bytes, failureOf, inline, NOW, put, putOf, using } from "./behaviour/fixture.ts";
import { dropDatabases, openPostgresFixture, postgresRecorder } from "./postgres-fixture.ts";

requireServer("postgres")("catalog in PostgreSQL", () => {
  afterAll(dropDatabases, 120_000);
  catalogBehaviour(openPostgresFixture);

  test(
    "connections that are ended lose nothing acknowledged, and are replaced",
    using(openPostgresFixture, async ({ catalog, bucket, url }) => {
      const admin = new SQL(url, { max: 1 });
      let isOver = false;
      const stored: { key: string; seq: number }[] = [];
      let failures = 0;
      const clients = Array.from({ length: 8 }, async (_, client) => {
        for (let i = 0; !isOver; i++) {
          const key = `${client}-${i}`;
          try {
            const object = inline(await catalog.nextSeq());
            const { outcome } = await catalog.commitPut(putOf(bucket, key, object));
            if (outcome === "stored") stored.push({ key, seq: object.seq });
          } catch (error) {
            expect(error).toMatchObject({ name: "CatalogError", code: "unavailable" });
            failures++;
          }
        }
      });
      for (let i = 0; i < 5 || failures === 0; i++) {
        await Bun.sleep(50);
        // On a slow machine, none may have been stored since the last time.
        for (const before = stored.length; stored.length === before;) await Bun.sleep(5);
        await admin.unsafe(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid()`,
        );
      }
      isOver = true;
      await Promise.all(clients);
      await admin.close();
      for (const { key, seq } of stored) {
        expect((await catalog.findObject(bucket.id, bytes(key)))?.seq).toBe(seq);
      }
      expect(new Set(stored.map(({ seq }) => seq)).size).toBe(stored.length);
    }),
  );

  test(
    "writes are acknowledged once the log has them, though the database is set not to wait for it",
    using(openPostgresFixture, async ({ catalog, bucket, url }) => {
      const admin = new SQL(url, { max: 1 });
      const [{ setting }] = await admin.unsafe(
        "SELECT current_setting('synchronous_commit') AS setting",
      );
      expect(setting).toBe("off");
      let seq = 1_000_000;
      const writes = {
        nextSeq: async () => catalog.nextSeq(),
        beginWrite: async () => catalog.beginWrite(NOW),
        commitPut: async () => catalog.commitPut(putOf(bucket, "key", inline(seq++))),
      };
      for (const [name, write] of Object.entries(writes)) {
        // The log is written in the background, too: one of them might be lucky.
        for (let i = 0; i < 20; i++) {
          const [{ before }] = await admin.unsafe("SELECT pg_current_wal_insert_lsn() AS before");
          await write();
          const [{ kept }] = await admin.unsafe(
            `SELECT pg_current_wal_flush_lsn() > '${before}' AS kept`,
          );
          expect([name, i, kept]).toEqual([name, i, true]);
        }
      }
      await admin.close();
    }),
  );

  test(
    "a setting that waits for more than the log is kept",
    using(openPostgresFixture, async ({ url }) => {
      const admin = new SQL(url, { max: 1 });
      const name = new URL(url).pathname.slice(1);
      const found = new Map<string, unknown>();
      for (const setting of ["local", "remote_write", "on", "remote_apply", "off"]) {
        await admin.unsafe(`ALTER DATABASE ${name} SET synchronous_commit = ${setting}`);
        const database = await openPostgres(url, 1, (dialect) => ({
          ...changesOf(dialect),
          *setComplete() {
            const [row] = yield* rows("SELECT current_setting('synchronous_commit') AS value");
            found.set(setting, row!["value"]);
          },
        }));
        await database.write("setComplete", true);
        await database.close();
      }
      await admin.close();
      expect(Object.fromEntries(found)).toEqual({
        local: "local",
        remote_write: "remote_write",
        on: "on",
        remote_apply: "remote_apply",
        off: "on",
      });
    }),
  );

  test(
    "reads do not wait for writes that wait",
    using(openPostgresFixture, async ({ catalog, bucket, url }) => {
      await put(catalog, bucket, "key");
      const admin = new SQL(url, { max: 1 });
      const held = await admin.reserve();
      await held.unsafe("BEGIN");
      await held.unsafe("LOCK TABLE objects IN SHARE MODE");
      let written = 0;
      const writes = Array.from({ length: 30 }, async (_, i) => {
        await put(catalog, bucket, `key-${i}`);
        written++;
      });
      // All connections for writes wait now.
      await Bun.sleep(200);
      expect(await catalog.findObject(bucket.id, bytes("key"))).toBeDefined();
      const page = await catalog.listObjects({ bucket: bucket.id, prefix: bytes(""), limit: 10 });
      expect(page.entries).toHaveLength(1);
      expect(written).toBe(0);
      await held.unsafe("COMMIT");
      await held.release();
      await Promise.all(writes);
      await admin.close();
    }),
  );

  test("many that open a new catalog at once make it once", async () => {
    const fixture = await openPostgresFixture();
    const admin = new SQL(fixture.url, { max: 1 });
    await admin.unsafe("DROP SCHEMA public CASCADE");
    await admin.unsafe("CREATE SCHEMA public");
    await admin.close();
    const catalogs = await Promise.all(Array.from({ length: 6 }, () => fixture.reopen()));
    const uuids = await Promise.all(
      catalogs.map(async (catalog) => (await catalog.lineage()).uuid),
    );
    expect(new Set(uuids).size).toBe(1);
    await fixture.cleanup();
  });

  test("refuses a catalog of a newer version, and a server that is not there", async () => {
    const fixture = await openPostgresFixture();
    const admin = new SQL(fixture.url, { max: 1 });
    await admin.unsafe("UPDATE catalog_version SET version = 99");
    await admin.close();
    expect(await failureOf(fixture.reopen())).toMatchObject({ code: "version" });
    await fixture.cleanup();
    const failed = await openCatalog("postgres://user:top-secret@127.0.0.1:1/none").catch(
      (error: unknown) => error,
    );
    expect(failed).toMatchObject({ name: "CatalogError", code: "unavailable" });
    expect(Bun.inspect(failed)).not.toContain("top-secret");
  });

  // The last one: it looks at what the others have run.
  test("every statement uses an index", async () => {
    expect(postgresRecorder.statements.size).toBeGreaterThan(50);
    const fixture = await openPostgresFixture();
    const admin = new SQL(fixture.url, { max: 1 });
    // Tables that are almost empty would be read as a whole.
    await admin.unsafe("SET enable_seqscan = off");
    const scans = new Map<string, string>();
    for (const { sql, values } of postgresRecorder.statements.values()) {
      if (!/^(?:SELECT|WITH|INSERT|UPDATE|DELETE)/u.test(sql) || sql.includes("COUNT(*) AS n"))
        continue;
      let count = 0;
      const text = `EXPLAIN ${sql.replaceAll("?", () => `$${++count}`)}`;
      const plan = await admin.unsafe(text, values.length === 0 ? undefined : [...values]);
      const lines = (plan as { "QUERY PLAN": string }[]).map((row) => row["QUERY PLAN"]);
      // A sequence has one row.
      const scan = lines.find((line) => /Seq Scan on (?!sequence)/u.test(line));
      if (scan !== undefined) scans.set(sql, scan);
    }
    expect(Object.fromEntries(scans)).toEqual({});
    await admin.close();
    await fixture.cleanup();
  });
});
