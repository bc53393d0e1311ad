import { throwIfAborted } from "../../abort.ts";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { StorageError } from "../../errors.ts";
import { notAFile, systemCode } from "./errors.ts";

/** Private to the owner: names, sizes and times stay secret although the content is encrypted. */
export const FOLDER_MODE = 0o700;
export const FILE_MODE = 0o600;

/**
 * Bytes per write call. A 4 MiB chunk takes one; before each further write of a larger blob, the
 * signal is checked. A started write cannot be cancelled: it borrows the bytes and the file
 * descriptor until it ends.
 */
const WRITE_BYTES = 4 * 2 ** 20;

/**
 * O_NOFOLLOW, because a symbolic link at a blob's name may lead out of the store. O_NONBLOCK,
 * because opening a pipe would otherwise wait for a writer forever.
 */
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The result of a call on a path, or undefined if the path does not exist. */
export async function unlessMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Writes a new file's bytes, syncs them if `fsync` is set, and closes the file in any case. */
export async function fillFile(
  handle: FileHandle,
  bytes: Uint8Array,
  fsync: boolean,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    let written = 0;
    while (written < bytes.length) {
      throwIfAborted(signal);
      const length = Math.min(WRITE_BYTES, bytes.length - written);
      // A disk that fills up accepts part of the bytes and reports the error to the next write.
      written += (await handle.write(bytes, written, length, written)).bytesWritten;
    }
    throwIfAborted(signal);
    if (fsync) await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Reads a file into the beginning of a buffer.
 *
 * @param offset where to start, to read only as much as fits; by default the whole file is read
 * @returns the number of bytes read, or undefined if there is no such file
 * @throws StorageError `limit`; `unavailable` if it is not a regular file or shrinks during the
 *   read; or the system's own error
 */
export async function readFileInto(
  path: string,
  buffer: Uint8Array,
  signal: AbortSignal | undefined,
  offset?: number,
): Promise<number | undefined> {
  const handle = await unlessMissing(open(path, READ_FLAGS));
  if (handle === undefined) return undefined;
  try {
    // On the handle, because a writer may replace the file at this path during the read.
    const stats = await handle.stat();
    if (!stats.isFile()) throw notAFile(path);
    if (stats.size > buffer.length && offset === undefined) {
      throw new StorageError("limit", `the blob ${path} is longer than ${buffer.length} bytes`);
    }
    const start = offset ?? 0;
    const length = Math.min(Math.max(0, stats.size - start), buffer.length);
    let filled = 0;
    while (filled < length) {
      throwIfAborted(signal);
      const { bytesRead } = await handle.read(buffer, filled, length - filled, start + filled);
      if (bytesRead === 0) throw shrank(path);
      filled += bytesRead;
    }
    return filled;
  } finally {
    await handle.close();
  }
}

function shrank(path: string): StorageError {
  return new StorageError(
    "unavailable",
    `the blob ${path} shrank during the read; find out what else writes there, then try again`,
    { transient: true },
  );
}

/** Syncs a file that exists, so that it survives a power failure even if another process made it. */
export async function syncFile(path: string): Promise<void> {
  const handle = await open(path, READ_FLAGS);
  try {
    if (!(await handle.stat()).isFile()) throw notAFile(path);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates a folder and its missing parents; with `fsync` they survive a power failure. */
export async function createFolders(folder: string, fsync: boolean): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  if (first === undefined || !fsync) return;
  for (let created = folder; created.length >= first.length; created = dirname(created)) {
    await syncFolder(dirname(created));
  }
}

/** Syncs a folder's entries, which are its files' names and not their bytes. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } catch (error) {
    // Some network and user-space file systems do not support this and order changes themselves.
    if (systemCode(error) !== "EINVAL" && systemCode(error) !== "ENOTSUP") throw error;
  } finally {
    await handle.close();
  }
}
