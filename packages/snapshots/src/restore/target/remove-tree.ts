import type { Folder, Host, Stat } from "../../files/host.ts";
import type { NameList } from "../../files/names.ts";
import { codeOf } from "../../files/errors.ts";

interface Level {
  readonly name: Uint8Array;
  readonly stat: Stat;
  readonly names: NameList;
  next: number;
  folder: Folder | undefined;
}

/** Folders that are open at once, however deep the tree is. */
const OPEN_MAX = 64;

/**
 * Removes a file, or a folder with what is in it. Follows no link, and leaves other file systems than that
 * of the parent alone.
 *
 * @returns false if there is nothing of this name
 * @throws FileError; what was removed before stays so
 */
export function removeTree(host: Host, parent: Folder, name: Uint8Array): boolean {
  const stat = host.stat(parent, name);
  if (stat === undefined) return false;
  if (stat.type !== "directory") {
    host.removeFile(parent, name);
    return true;
  }
  const levels: Level[] = [];
  const enter = (above: Folder, inner: Uint8Array, innerStat: Stat): void => {
    if (innerStat.device !== stat.device) throw new MountedHere();
    if ((innerStat.mode & 0o700) !== 0o700) {
      try {
        host.setMode(above, inner, innerStat.mode | 0o700);
      } catch (error) {
        if (codeOf(error) === undefined) throw error;
      }
    }
    const folder = host.openFolder(above, inner);
    levels.push({ name: inner, stat: innerStat, names: host.list(folder), next: 0, folder });
    const far = levels.at(-1 - OPEN_MAX);
    if (far?.folder === undefined) return;
    host.close(far.folder);
    far.folder = undefined;
  };
  try {
    if (stat.device !== host.statOpen(parent.fd).device) throw new MountedHere();
    enter(parent, name, stat);
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const folder = level.folder!;
      if (level.next < level.names.length) {
        const inner = level.names.name(level.next);
        level.next += 1;
        const innerStat = host.stat(folder, inner);
        if (innerStat?.type === "directory") enter(folder, inner, innerStat);
        else if (innerStat !== undefined) host.removeFile(folder, inner);
        continue;
      }
      const above = levels.at(-2);
      if (above !== undefined) above.folder ??= openSameAbove(host, folder, above.stat);
      levels.pop();
      host.close(folder);
      host.removeFolder(above?.folder ?? parent, level.name);
    }
    return true;
  } finally {
    for (const { folder } of levels) if (folder !== undefined) host.close(folder);
  }
}

function openSameAbove(host: Host, folder: Folder, { inode, device }: Stat): Folder {
  const above = host.openAbove(folder);
  const stat = host.statOpen(above.fd);
  if (stat.inode === inode && stat.device === device) return above;
  host.close(above);
  throw new MovedAway();
}

class MountedHere extends Error {
  readonly code = "EBUSY";

  constructor() {
    super("another file system is mounted there, which is not deleted");
  }
}

class MovedAway extends Error {
  readonly code = "ESTALE";

  constructor() {
    super("the folder was moved while it was deleted");
  }
}
