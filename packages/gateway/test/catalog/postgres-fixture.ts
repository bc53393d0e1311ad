import { randomBytes } from "node:crypto";
import { SQL } from "bun";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { openCatalog } from "../../src/catalog/open-catalog.ts";
import { serverUrl } from "../../../../tests/servers/require-server.ts";
import type { Fixture } from "./behaviour/fixture.ts";

/** An empty catalog in a database of its own, which sorts as a dictionary does. */
export async function openPostgresFixture(): Promise<Fixture & { url: string }> {
  const server = serverUrl("postgres")!;
  const admin = new SQL(server.href, { max: 1 });
  const name = `catalog_${randomBytes(8).toString("hex")}`;
  await admin.unsafe(
    `CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'`,
  );
  const url = new URL(server);
  url.pathname = `/${name}`;
  const opened: Catalog[] = [];
  const reopen = async (): Promise<Catalog> => {
    const catalog = await openCatalog(url.href);
    opened.push(catalog);
    return catalog;
  };
  return {
    url: url.href,
    catalog: await reopen(),
    reopen,
    cleanup: async () => {
      for (const catalog of opened) await catalog.close();
      await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.close();
    },
  };
}
