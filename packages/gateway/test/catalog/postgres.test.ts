import { afterAll, expect, test } from "bun:test";
import { SQL } from "bun";
import { openCatalog } from "../../src/catalog/open-catalog.ts";
import { requireServer } from "../../../../tests/servers/require-server.ts";
import { catalogBehaviour } from "./behaviour/behaviour.ts";
import { bytes, failureOf, inline, put, putOf, using } from "./behaviour/fixture.ts";
import { dropDatabases, openPostgresFixture, postgresRecorder } from "./postgres-fixture.ts";

requireServer("postgres")("catalog in PostgreSQL", () => {
  afterAll(dropDatabases, 60_000);
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
      for (let i = 0; i < 5; i++) {
        await Bun.sleep(50);
        await admin.unsafe(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid()`,
        );
      }
      isOver = true;
      await Promise.all(clients);
      await admin.close();
      expect(failures).toBeGreaterThan(0);
      expect(stored.length).toBeGreaterThan(0);
      for (const { key, seq } of stored) {
        expect((await catalog.findObject(bucket.id, bytes(key)))?.seq).toBe(seq);
      }
      expect(new Set(stored.map(({ seq }) => seq)).size).toBe(stored.length);
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
