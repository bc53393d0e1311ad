import { randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";

/**
 * Writes a file as a whole, so that a crash leaves the old content or the new one.
 *
 * @param path no symbolic link: a link would be replaced
 * @param mode of the new file; by default set by the umask
 */
export async function replaceFile(path: string, text: string, mode?: number): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
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
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
