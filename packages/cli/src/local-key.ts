import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { systemCodeOf } from "./failures.ts";

const LENGTH = 32;

/**
 * The key that this user's journals on this machine are sealed with; made when it is first needed.
 * It is not kept beside them: caches get copied and cleared where nobody would copy a key.
 *
 * @param folder made where it is missing, for its owner alone
 * @throws the system's own error
 */
export async function loadLocalKey(folder: string): Promise<Uint8Array> {
  const path = join(folder, "journal.key");
  const found = await read(path);
  if (found !== undefined) return found;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const key = randomBytes(LENGTH);
  const temporary = `${path}.${randomBytes(8).toString("hex")}`;
  try {
    await writeFile(temporary, key, { flag: "wx", mode: 0o600, flush: true });
    // Of two that come at once, one makes the key and both use it.
    await link(temporary, path);
    return key;
  } catch (error) {
    const theirs = systemCodeOf(error) === "EEXIST" ? await read(path) : undefined;
    if (theirs === undefined) throw error;
    return theirs;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function read(path: string): Promise<Uint8Array | undefined> {
  try {
    const key = await readFile(path);
    if (key.length === LENGTH) return key;
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return undefined;
    throw error;
  }
  // Cut short by something else than this program: what was sealed with it is lost in any case.
  await rm(path);
  return undefined;
}
