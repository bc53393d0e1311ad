import type { Entry, FileEntry } from "../../format/tree/entry.ts";
import type { Attributes, AttributeSetter } from "./attributes.ts";
import type { Folder, Host, Stat } from "../../files/host.ts";
import { closeSync, constants } from "node:fs";
import type { Overwrite } from "../options.ts";
import { codeOf } from "../../files/errors.ts";
import { equal, startHash } from "@idk/storage/blobs";
import { hashRange } from "../contents/content-hash.ts";
import { isSameTime } from "./attributes.ts";

/** What is in the target under an entry's name, and what happens with it. */
export type Existing =
  | { readonly action: "created" | "replaced" }
  /** `isSame`: by its size and time, it is what the snapshot has; an earlier restore may have made it. */
  | { readonly action: "kept"; readonly isSame: boolean }
  | { readonly action: "unchanged"; readonly stat: Stat };

export interface ExistingOptions {
  readonly overwrite: Overwrite;
  readonly verify: boolean;
  readonly attributes: AttributeSetter;
  readonly signal: AbortSignal | undefined;
}

/**
 * Decides what happens with what has the name of an entry that is not a folder.
 *
 * @param to what the entry is to have
 */
export async function compareExisting(
  host: Host,
  folder: Folder,
  entry: Exclude<Entry, { type: "directory" }>,
  to: Attributes,
  { overwrite, verify, attributes, signal }: ExistingOptions,
): Promise<Existing> {
  const stat = host.stat(folder, entry.name);
  if (stat === undefined) return { action: "created" };
  if (overwrite === "never") {
    const isSameSize = entry.type !== "file" || stat.size === entry.size;
    const isSame = stat.type === entry.type && isSameSize && isSameTime(stat.mtime, entry.mtime);
    return { action: "kept", isSame };
  }
  if (overwrite === "always" || stat.type !== entry.type) return { action: "replaced" };
  // Its other names may be anywhere, and would get this entry's attributes too.
  const isShared = (there: Stat): boolean =>
    there.links > 1 &&
    (entry.extra.links === undefined || attributes.differ(folder, entry.name, there, to));
  if (isShared(stat)) return { action: "replaced" };
  const isSame = await hasSameContent(host, folder, entry, stat, verify, signal);
  if (!isSame) return { action: "replaced" };
  // Comparing may have taken long.
  const now = host.stat(folder, entry.name);
  const isOther = now?.inode !== stat.inode || now.device !== stat.device;
  if (isOther || isShared(now)) return { action: "replaced" };
  return { action: "unchanged", stat: now };
}

async function hasSameContent(
  host: Host,
  folder: Folder,
  entry: Exclude<Entry, { type: "directory" }>,
  stat: Stat,
  verify: boolean,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  switch (entry.type) {
    case "file":
      if (stat.size !== entry.size) return false;
      if (!verify && isSameTime(stat.mtime, entry.mtime)) return true;
      return hasHash(host, folder, entry, signal);
    case "link":
      return Buffer.compare(host.readLink(folder, entry.name), entry.target) === 0;
    case "character-device":
    case "block-device":
      return stat.major === entry.major && stat.minor === entry.minor;
    case "fifo":
    case "socket":
    default:
      return true;
  }
}

async function hasHash(
  host: Host,
  folder: Folder,
  { name, size, hash: expected }: FileEntry,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  let fd: number;
  try {
    fd = host.openFile(folder, name, constants.O_RDONLY);
  } catch (error) {
    // It cannot be read, so it is written anew.
    if (codeOf(error) === undefined) throw error;
    return false;
  }
  try {
    const hash = startHash();
    const isWhole = await hashRange(hash, fd, 0, size, signal);
    return isWhole && equal(new Uint8Array(hash.digest()), expected);
  } finally {
    closeSync(fd);
  }
}
