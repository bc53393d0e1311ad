import type { Stat } from "../../files/host.ts";
import { fchmodSync } from "node:fs";

/** While a folder is filled, only its owner has rights. */
export const FILLING = 0o700;

/**
 * The mode of a folder that a restore has made and not finished. The sticky bit means nothing in a folder
 * that no one else can write to, so nobody sets it there. After a restore that was interrupted or killed, the
 * next one knows the folder by it, and sets the attributes of the snapshot as if it had made the folder.
 */
export const UNFINISHED = 0o1700;

/** A folder inherits it from the one above. */
const SET_GROUP_ID = 0o2000;

export function isUnfinished({ mode, uid }: Stat): boolean {
  return (mode & ~SET_GROUP_ID) === UNFINISHED && uid === process.geteuid?.();
}

/** Makes an open folder one that is not finished. */
export function markUnfinished(fd: number): void {
  try {
    fchmodSync(fd, UNFINISHED);
  } catch {
    // FAT and exFAT refuse a mode with the bit.
    fchmodSync(fd, FILLING);
  }
}
