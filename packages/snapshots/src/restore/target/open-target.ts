import type { Folder, Host } from "../../files/host.ts";
import { StorageError } from "@idk/storage";
import { codeOf } from "../../files/errors.ts";
import { mkdirSync } from "node:fs";
import { shownPath } from "../../read/paths.ts";

/**
 * Opens the target, and makes it with the folders above if it is not there.
 *
 * @returns no handle if it is not there and this is a dry run
 * @throws StorageError `usage`, `permission`
 */
export function openTarget(
  host: Host,
  target: string | Uint8Array,
  dryRun: boolean,
): { readonly handle: Folder | undefined; readonly isNew: boolean } {
  const path = Buffer.from(target);
  if (path.length === 0 || path.includes(0)) {
    throw new StorageError("usage", "target must be the path of a folder");
  }
  try {
    try {
      return { handle: host.openRoot(path), isNew: false };
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      if (dryRun) return { handle: undefined, isNew: true };
    }
    mkdirSync(path, { recursive: true });
    return { handle: host.openRoot(path), isNew: true };
  } catch (cause) {
    const code = codeOf(cause);
    if (code === undefined) throw cause;
    const shown = `cannot open the target ${shownPath(path)}`;
    if (code === "ENOTDIR" || code === "EEXIST") {
      throw new StorageError("usage", `${shown}: it is not a folder`, { cause });
    }
    const isRefused = code === "EACCES" || code === "EPERM" || code === "EROFS";
    throw new StorageError(isRefused ? "permission" : "usage", `${shown}: ${code}`, { cause });
  }
}
