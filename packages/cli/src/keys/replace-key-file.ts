import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { access, type FileHandle, open, realpath, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { Failure, reasonOf, usage } from "../errors/failures.ts";
import { readUpTo, withSmallFile } from "../input/small-file.ts";

/** How a key file was replaced. */
export interface Replacement {
  /** Whether the old content still has another name, a hard link. */
  readonly linked: boolean;
}

/**
 * Replaces the content of a key file. At every moment, also after a crash, its path leads to all of the
 * old content or all of the new. A symbolic link to the file stays one. Only the owner can read the new
 * file; the old content is overwritten unless it has another name.
 *
 * @param what the kind of file, for messages
 * @param content makes the new content of the old; if it throws, nothing is changed
 */
export async function replaceKeyFile(
  path: string,
  what: string,
  content: (old: Uint8Array) => Promise<Uint8Array>,
): Promise<Replacement> {
  const file = await realpath(path).catch((error: unknown) => {
    throw usage(`cannot read the ${what} ${path}: ${reasonOf(error)}`, error);
  });
  const before = await readState(file, path, what);
  // Before anything is prompted for, so that no passphrase is typed in vain.
  await access(dirname(file), constants.W_OK).catch((error: unknown) => {
    throw usage(
      `cannot replace ${path}: its folder ${dirname(file)} cannot be written to: ${reasonOf(error)}`,
      error,
    );
  });
  const bytes = await content(before.bytes);

  const temporary = `${file}.${randomUUID()}.tmp`;
  let old: FileHandle | undefined;
  try {
    await writeLike(temporary, bytes, before.stats);
    const now = await readState(file, path, what);
    if (now.stats.ino !== before.stats.ino || Buffer.compare(now.bytes, before.bytes) !== 0) {
      throw usage(
        `${path} was changed by another program meanwhile, and was not replaced: try again`,
      );
    }
    // Windows does not replace an open file.
    if (process.platform !== "win32") old = await open(file, "r+").catch(() => undefined);
    await rename(temporary, file);
    if (old === undefined) return { linked: before.stats.nlink > 1 };
    const { nlink, size } = await old.stat();
    // The old content must not be lost before the new name is on the disk.
    if (nlink === 0 && (await syncFolder(dirname(file)))) await overwrite(old, size);
    return { linked: nlink > 0 };
  } catch (error) {
    await rm(temporary, { force: true });
    if (error instanceof Failure) throw error;
    throw new Failure("output", `cannot replace ${path}: ${reasonOf(error)}`, error);
  } finally {
    await old?.close();
  }
}

interface FileState {
  readonly bytes: Uint8Array;
  readonly stats: Stats;
}

async function readState(file: string, path: string, what: string): Promise<FileState> {
  let stats: Stats | undefined;
  const bytes = await withSmallFile(file, what, async (handle) => {
    stats = await handle.stat();
    if (!stats.isFile())
      throw usage(`cannot replace the ${what} ${path}: it is not a regular file`);
    return readUpTo(handle);
  });
  return { bytes, stats: stats! };
}

/** Writes a new file with the owner of another, and what its owner may do with that. */
async function writeLike(
  path: string,
  bytes: Uint8Array,
  { uid, gid, mode }: Stats,
): Promise<void> {
  const handle = await open(path, "wx", 0o600);
  try {
    // Only root can, and needs to, do that.
    if (process.getuid !== undefined && process.getuid() !== uid) await handle.chown(uid, gid);
    await handle.writeFile(bytes);
    await handle.chmod(mode & 0o700);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** @returns false if this file system cannot do that */
async function syncFolder(path: string): Promise<boolean> {
  try {
    const folder = await open(path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
    return true;
  } catch {
    return false;
  }
}

/**
 * Overwrites a file that has no name any more, so that its content is not found on the disk. Disks and
 * file systems that never write to the same place twice keep it nevertheless.
 */
async function overwrite(file: FileHandle, length: number): Promise<void> {
  try {
    await file.write(new Uint8Array(length), 0, length, 0);
    await file.sync();
  } catch {
    // The new content is in place; this is an extra.
  }
}
