import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Catalog } from "../../src/catalog/catalog.ts";
import type { Statement } from "../../src/catalog/database/port.ts";
import { openSqlite } from "../../src/catalog/database/sqlite.ts";
import { createCatalog } from "../../src/catalog/open-catalog.ts";
import type { Fixture } from "./behaviour/fixture.ts";
import { recording } from "./recording.ts";

/** All statements that the tests have run so far. */
export const sqliteStatements: Map<string, Statement> = new Map();

/** An empty catalog in a file of its own. */
export async function openSqliteFixture(): Promise<Fixture & { path: string }> {
  const folder = await mkdtemp(join(tmpdir(), "idk-catalog-"));
  const path = join(folder, "catalog");
  const opened: Catalog[] = [];
  const reopen = async (): Promise<Catalog> => {
    const catalog = await createCatalog(recording(await openSqlite(path), sqliteStatements));
    opened.push(catalog);
    return catalog;
  };
  return {
    path,
    catalog: await reopen(),
    reopen,
    cleanup: async () => {
      for (const catalog of opened) await catalog.close();
      await rm(folder, { recursive: true });
    },
  };
}
