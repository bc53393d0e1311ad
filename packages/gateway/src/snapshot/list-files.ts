import { Database as Connection } from "bun:sqlite";
import { randomUUID } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/*
 * The files of lists: databases of SQLite, which have the names of a backup in plain text. A process that is
 * killed leaves its file.
 */

const NAME = /^snapshot-[0-9a-f-]{36}\.sqlite$/u;

/** The path of a new list. */
export function newList(folder: string): string {
  return join(folder, `snapshot-${randomUUID()}.sqlite`);
}

/** Deletes a list, with its log. */
export async function removeList(file: string): Promise<void> {
  for (const end of ["", "-wal", "-shm"]) await rm(`${file}${end}`, { force: true });
}

/** Deletes the lists in a folder that no process has open. */
export async function removeUnusedLists(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!NAME.test(name)) continue;
    const file = join(folder, name);
    const stats = await stat(file).catch(() => undefined);
    // It has no names yet, and its process may be about to lock it.
    if (stats === undefined || stats.size === 0) continue;
    if (!isInUse(file)) await removeList(file);
  }
}

/**
 * Whether a connection to the database is open: only without one, it can be locked as a whole. Unlike the
 * number of a process, locks also mean something where several containers share the folder. What cannot be
 * told, such as without file descriptors, may be in use.
 */
function isInUse(file: string): boolean {
  let connection: Connection | undefined;
  try {
    connection = new Connection(file, { readwrite: true });
    // Needs no file beside it, for which a full disk would have no room.
    connection.run("PRAGMA locking_mode = EXCLUSIVE");
    connection.query("SELECT name FROM sqlite_schema").all();
    return false;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    return typeof code !== "string" || !/^SQLITE_(?:NOTADB|CORRUPT)/u.test(code);
  } finally {
    connection?.close();
  }
}
