import { existsSync } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import { systemCodeOf } from "./errors/failures.ts";

/**
 * Writes a file as a whole, so that a crash leaves the old content or the new one.
 *
 * @param path no symbolic link: a link would be replaced
 * @param mode of the new file; by default set by the umask
 */
export function replaceFile(path: string, text: string, mode?: number): Promise<void> {
  return writeWhole(path, text, mode, (written) => rename(written, path));
}

/**
 * The same for a file that must not exist, so that a crash leaves none or all of it.
 *
 * @throws Error `EEXIST` if it does
 */
export function createFile(path: string, text: string, mode?: number): Promise<void> {
  return writeWhole(path, text, mode, async (written) => {
    try {
      await link(written, path);
    } catch (error) {
      // Some file systems have no hard links. Then nothing tells of a file that is created meanwhile.
      if (systemCodeOf(error) === "EEXIST" || existsSync(path)) throw error;
      await rename(written, path);
    }
  });
}

async function writeWhole(
  path: string,
  text: string,
  mode: number | undefined,
  place: (written: string) => Promise<void>,
): Promise<void> {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  try {
    const handle = await open(temporary, "wx", mode ?? 0o666);
    try {
      await handle.writeFile(text);
      // Whatever the umask is.
      if (mode !== undefined) await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await place(temporary);
  } finally {
    await rm(temporary, { force: true });
  }
}
