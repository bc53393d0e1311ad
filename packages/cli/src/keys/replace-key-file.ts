import { constants, type Stats } from "node:fs";
import { access, type FileHandle, open, readdir, realpath, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Failure, reasonOf, usage } from "../errors/failures.ts";
import { syncFolder } from "../folders.ts";
import { AT_ONCE, readUpTo, withSmallFile } from "../input/small-file.ts";

/** How a key file was replaced. */
export interface Replacement {
  /** Whether the old content still has another name, a hard link. */
  readonly linked: boolean;
  /** Whether the old content, if it has no other name, was overwritten on the disk. */
  readonly overwritten: boolean;
  /** The mode that the old file had. The new one has the permissions of the owner only. */
  readonly formerMode: number;
}

/**
 * Replaces the content of a key file. At every moment, also after a crash, its path leads to all of the
 * old content or all of the new. A symbolic link to the file stays one. Only the owner can read the new
 * file; the old content is overwritten unless it has another name, and so is what a run that was killed
 * left behind.
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

  const temporary = `${file}.${crypto.randomUUID()}.tmp`;
  let old: FileHandle | undefined;
  try {
    await writeLike(temporary, bytes, before.stats);
    const now = await readState(file, path, what);
    if (now.stats.ino !== before.stats.ino || Buffer.compare(now.bytes, before.bytes) !== 0) {
      throw usage(
        `${path} was changed by another program meanwhile, and was not replaced: try again`,
      );
    }
    old = await openToOverwrite(file);
    await rename(temporary, file);
    // The old content must not be lost before the new name is on the disk.
    const synced = await syncFolder(dirname(file));
    if (synced) await removeLeftovers(file);
    const linked = old === undefined ? before.stats.nlink > 1 : (await old.stat()).nlink > 0;
    const overwritten = synced && (await overwrite(old));
    return { linked, overwritten, formerMode: modeOf(before.stats) };
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
  const read = async (handle: FileHandle): Promise<Uint8Array | undefined> => {
    stats = await handle.stat();
    if (!stats.isFile())
      throw usage(`cannot replace the ${what} ${path}: it is not a regular file`);
    return readUpTo(handle);
  };
  const bytes = await withSmallFile(file, what, read, AT_ONCE);
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

/** Windows has no modes, and Node makes one up. */
function modeOf({ mode }: Stats): number {
  return mode & (process.platform === "win32" ? 0o700 : 0o777);
}

/** Opens a file of the user for writing, even if its mode forbids that, which it keeps. */
async function openToOverwrite(path: string): Promise<FileHandle | undefined> {
  // Windows neither replaces nor removes an open file.
  if (process.platform === "win32") return undefined;
  const writable = await open(path, "r+").catch(() => undefined);
  if (writable !== undefined) return writable;
  const readable = await open(path, "r").catch(() => undefined);
  try {
    const mode = (await readable?.stat())?.mode;
    if (readable === undefined || mode === undefined) return undefined;
    await readable.chmod((mode & 0o777) | 0o200);
    const opened = await open(path, "r+").catch(() => undefined);
    // It may have other names, under which it stays.
    await readable.chmod(mode & 0o777);
    return opened;
  } catch {
    return undefined;
  } finally {
    await readable?.close();
  }
}

/**
 * Overwrites a file if it has no name any more, so that its content is not found on the disk. Disks and
 * file systems that never write to the same place twice keep it nevertheless.
 *
 * @returns whether that succeeded; it is an extra, because the new content is in place
 */
async function overwrite(file: FileHandle | undefined): Promise<boolean> {
  if (file === undefined) return false;
  try {
    const { nlink, size } = await file.stat();
    if (nlink > 0) return false;
    await file.write(new Uint8Array(size), 0, size, 0);
    await file.sync();
    return true;
  } catch {
    return false;
  }
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;

/** Removes the temporary files of runs that were killed, which may hold the key without a passphrase. */
async function removeLeftovers(file: string): Promise<void> {
  const folder = dirname(file);
  const start = `${basename(file)}.`;
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const { name } = entry;
    if (!entry.isFile() || !name.startsWith(start) || !name.endsWith(".tmp")) continue;
    if (!UUID.test(name.slice(start.length, -".tmp".length))) continue;
    const leftover = await openToOverwrite(join(folder, name));
    await rm(join(folder, name), { force: true }).catch(() => {});
    await overwrite(leftover);
    await leftover?.close();
  }
}
