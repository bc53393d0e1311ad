import { randomBytes } from "node:crypto";
import { SQL } from "bun";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { openPostgres } from "../../src/catalog/database/postgres.ts";
import { createCatalog } from "../../src/catalog/open-catalog.ts";
import { serverUrl } from "../../../../tests/servers/require-server.ts";
import type { Fixture } from "./behaviour/fixture.ts";
import { createRecorder } from "./recording.ts";

/** All statements that the tests have run so far. */
export const postgresRecorder = createRecorder();

/** Databases that a test is done with. Making one takes much longer than emptying one. */
const free: string[] = [];
const made: string[] = [];

async function inServer(database: string | undefined, ...statements: string[]): Promise<void> {
  const url = new URL(serverUrl("postgres")!);
  if (database !== undefined) url.pathname = `/${database}`;
  const sql = new SQL(url.href, { max: 1 });
  for (const statement of statements) await sql.unsafe(statement);
  await sql.close();
}

/** An empty catalog in a database of its own, which sorts as a dictionary does. */
export async function openPostgresFixture(): Promise<Fixture & { url: string }> {
  let name = free.pop();
  if (name === undefined) {
    name = `catalog_${randomBytes(8).toString("hex")}`;
    made.push(name);
    await inServer(
      undefined,
      `CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'`,
      // Some operators do. The catalog must not depend on it.
      `ALTER DATABASE ${name} SET synchronous_commit = off`,
    );
  }
  const database = name;
  const url = new URL(serverUrl("postgres")!);
  url.pathname = `/${database}`;
  const opened: Catalog[] = [];
  const reopen = async (): Promise<Catalog> => {
    const { changesOf, readsOf } = postgresRecorder;
    const catalog = await createCatalog(readsOf(await openPostgres(url.href, 5, changesOf)));
    opened.push(catalog);
    return catalog;
  };
  return {
    url: url.href,
    catalog: await reopen(),
    reopen,
    cleanup: async () => {
      for (const catalog of opened) await catalog.close();
      await inServer(database, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public");
      free.push(database);
    },
  };
}

/** Removes the databases of all tests. */
export async function dropDatabases(): Promise<void> {
  for (const name of made) await inServer(undefined, `DROP DATABASE ${name} WITH (FORCE)`);
}
