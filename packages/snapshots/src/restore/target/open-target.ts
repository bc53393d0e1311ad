import type { Folder, Host } from "../../files/host.ts";
import type { Attributes } from "./attributes.ts";
import { StorageError } from "@idk/storage";
import { codeOf } from "../../files/errors.ts";
import { mkdirSync } from "node:fs";
import { isUnfinished, markUnfinished } from "./unfinished.ts";
import { shownPath } from "../../read/paths.ts";

/** The target, open. */
export interface OpenTarget {
  /** Undefined if it is not there and this is a dry run. */
  readonly handle: Folder | undefined;
  /** Made by this restore, so that nothing else is in it. */
  readonly isNew: boolean;
  /** Set at the end; undefined if it keeps what it has. */
  readonly attributes: Attributes | undefined;
}

/**
 * Opens the target, and makes it with the folders above if it is not there.
 *
 * @param attributes what it gets if this restore makes it, or one did that was interrupted
 * @throws StorageError `usage`, `permission`
 */
export function openTarget(
  host: Host,
  target: string | Uint8Array,
  attributes: Attributes | undefined,
  dryRun: boolean,
): OpenTarget {
  const path = Buffer.from(target);
  if (path.length === 0 || path.includes(0)) {
    throw new StorageError("usage", "target must be the path of a folder");
  }
  try {
    try {
      const handle = host.openRoot(path);
      if (!isUnfinished(host.statOpen(handle.fd))) {
        return { handle, isNew: false, attributes: undefined };
      }
      return { handle, isNew: false, attributes };
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      if (dryRun) return { handle: undefined, isNew: true, attributes };
    }
    mkdirSync(path, { recursive: true });
    const handle = host.openRoot(path);
    if (attributes !== undefined) markUnfinished(handle.fd);
    return { handle, isNew: true, attributes };
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
