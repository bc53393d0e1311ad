import { SQL } from "bun";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { serverUrl } from "../../../../tests/servers/require-server.ts";

/*
 * Where tests have their catalogs: in files, or, if IDK_GATEWAY_CATALOGS is `postgres`, in databases of the
 * server for tests.
 */

const isInPostgres = process.env["IDK_GATEWAY_CATALOGS"] === "postgres";

/** A place for a new catalog, as `openCatalog` takes it. A database goes with its server. */
export async function newPlace(folder: string): Promise<string> {
  return isInPostgres ? newDatabase("template0") : join(folder, crypto.randomUUID());
}

/** Copies a catalog while it is open. */
export async function copyOf(place: string): Promise<string> {
  if (isInPostgres) return newDatabase(new URL(place).pathname.slice(1));
  const copy = `${place}-copy`;
  for (const end of ["", "-wal", "-shm"]) {
    await copyFile(`${place}${end}`, `${copy}${end}`).catch(() => {});
  }
  return copy;
}

/** The code of PostgreSQL for `object_in_use`. */
const IN_USE = "55006";

async function newDatabase(template: string): Promise<string> {
  const url = new URL(serverUrl("postgres")!);
  const name = `objects_${crypto.randomUUID().replaceAll("-", "")}`;
  const sql = new SQL(url.href, { max: 1 });
  for (let tries = 5; ;) {
    // Nobody may be connected to what is copied. Connections that are ended are replaced, by chance before the
    // copy begins.
    await sql.unsafe(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${template}'`,
    );
    try {
      await sql.unsafe(`CREATE DATABASE ${name} TEMPLATE ${template}`);
      break;
    } catch (error) {
      tries -= 1;
      const isInUse = error instanceof SQL.PostgresError && error.errno === IN_USE;
      if (tries === 0 || !isInUse) throw error;
    }
  }
  await sql.close();
  url.pathname = `/${name}`;
  return url.href;
}
