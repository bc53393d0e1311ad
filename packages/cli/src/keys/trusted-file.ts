import type { Stats } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { usage } from "../errors/failures.ts";
import { readUpTo, withKeyFile } from "./key-files.ts";

/**
 * Reads a file that decides where content goes, for whom, and which programs run. Only this user and
 * root may be able to change or replace it: nobody else may own it or write to it, or to its folder.
 * For a symbolic link, that goes for both folders. Windows has no such modes.
 *
 * @param what the kind of file, for messages
 * @throws Failure `usage` with the remedy
 */
export async function readTrustedFile(path: string, what: string): Promise<Uint8Array> {
  return withKeyFile(path, what, async (handle) => {
    if (process.getuid !== undefined) {
      const user = process.getuid();
      const check = (stats: Stats, at: string, how: string) => {
        const fault = faultOf(stats, user, at);
        if (fault === undefined) return;
        throw usage(`the ${what} ${path} is not used, because ${how} ${fault}`);
      };
      const stats = await handle.stat();
      // Everyone can write to /dev/null, and nobody can replace it.
      const fixed = stats.isCharacterDevice();
      if (!fixed) check(stats, path, "it");
      const real = stats.isFile() ? await realpath(path) : path;
      for (const folder of new Set([dirname(path), dirname(real)])) {
        check(await stat(folder), folder, `its folder ${folder}`);
      }
    }
    return readUpTo(handle);
  });
}

/** What is wrong with the owner or the mode, to follow its name; undefined if it is fine. */
function faultOf(stats: Stats, user: number, at: string): string | undefined {
  const { uid, mode } = stats;
  if (uid !== user && uid !== 0) {
    return `belongs to another user (${uid}), who can change it: run chown ${user} ${at} as root, or use a copy`;
  }
  // In a sticky folder, such as /tmp, only its owner can replace a file.
  const sticky = stats.isDirectory() && (mode & 0o1000) !== 0;
  if ((mode & 0o022) === 0 || sticky) return undefined;
  return `can be changed by other users of this machine: run chmod go-w ${at}`;
}
