import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { openSqlite } from "../../src/catalog/database/sqlite.ts";
import { openWriter } from "../../src/catalog/database/sqlite-writer.ts";
import { createCatalog, openCatalog } from "../../src/catalog/open-catalog.ts";
import type { Fixture } from "./behaviour/fixture.ts";
import { createRecorder } from "./recording.ts";

/** All statements that the tests have run so far, but for those of writers in threads. */
export const sqliteRecorder = createRecorder();

/** An empty catalog in a file of its own. */
export function openSqliteFixture(): Promise<Fixture & { path: string }> {
  return openFixture(openCatalog);
}

/** The same, whose writer runs in this thread, so that its statements are recorded. */
export function openRecordedFixture(): Promise<Fixture & { path: string }> {
  return openFixture(async (path) => {
    const { changesOf, readsOf } = sqliteRecorder;
    return createCatalog(readsOf(await openSqlite(path, (path) => openWriter(path, changesOf))));
  });
}

async function openFixture(
  open: (path: string) => Promise<Catalog>,
): Promise<Fixture & { path: string }> {
  const folder = await mkdtemp(join(tmpdir(), "idk-catalog-"));
  const path = join(folder, "catalog");
  const opened: Catalog[] = [];
  const reopen = async (): Promise<Catalog> => {
    const catalog = await open(path);
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
