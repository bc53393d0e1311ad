import { throwIfAborted } from "../abort.ts";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { notAFile, systemCode } from "./filesystem-errors.ts";
import { StorageError } from "../errors.ts";

/** What is stored, how much and when is nobody else's business, although it is encrypted. */
export const FOLDER_MODE = 0o700;
export const FILE_MODE = 0o600;

/**
 * Bytes handed to the system in one write. A chunk of 4 MiB goes in one; before each further part
 * of a larger blob, the signal is looked at. One write cannot be abandoned: the bytes are lent
 * until it ends, and so is the file descriptor.
 */
const WRITE_BYTES = 4 * 2 ** 20;

/**
 * A link at a blob's name is not followed, since it may lead out of the store; and a pipe there
 * must not make the open wait for a writer for ever.
 */
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** What a call on a path gave, or undefined where the path does not exist. */
export async function unlessMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Writes a new file's bytes, has them on the disk if asked, and closes it in any case. */
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
      // A disk that fills up takes part of the bytes, and reports the error to the next write.
      written += (await handle.write(bytes, written, length, written)).bytesWritten;
    }
    throwIfAborted(signal);
    if (fsync) await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Reads a file into the front of a buffer: all of it, or only what the buffer takes.
 *
 * @returns how many bytes that are, or undefined where there is no such file
 * @throws StorageError `limit`; `unavailable` where it is no regular file or shrinks meanwhile; or
 *   the system's own error
 */
export async function readFileInto(
  path: string,
  buffer: Uint8Array,
  signal: AbortSignal | undefined,
  { prefixOnly = false }: { readonly prefixOnly?: boolean } = {},
): Promise<number | undefined> {
  const handle = await unlessMissing(open(path, READ_FLAGS));
  if (handle === undefined) return undefined;
  try {
    // Of the open file, which stays whole although a writer may replace the name meanwhile.
    const stats = await handle.stat();
    if (!stats.isFile()) throw notAFile(path);
    if (stats.size > buffer.length && !prefixOnly) {
      throw new StorageError("limit", `the blob ${path} has more than ${buffer.length} bytes`);
    }
    const wanted = Math.min(stats.size, buffer.length);
    let filled = 0;
    while (filled < wanted) {
      throwIfAborted(signal);
      const { bytesRead } = await handle.read(buffer, filled, wanted - filled, filled);
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
    `the blob ${path} shrank while it was read; find out what else writes there, then try again`,
    { transient: true },
  );
}

/** Makes a folder where it is missing, and the folders above it, so that they survive a power cut. */
export async function makeFolders(folder: string, fsync: boolean): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  if (first === undefined || !fsync) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    await syncFolder(dirname(made));
  }
}

/** Has the entries of a folder on the disk: its files' names, not their bytes. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } catch (error) {
    // Some network and user-space file systems cannot, and order their changes themselves.
    if (systemCode(error) !== "EINVAL" && systemCode(error) !== "ENOTSUP") throw error;
  } finally {
    await handle.close();
  }
}
