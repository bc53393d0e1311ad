import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { Failure, reasonOf, systemCodeOf, usage } from "../errors/failures.ts";

/** Such files are short; a mistyped path may name anything. */
const LENGTH_MAX = 2 ** 20;

/** Opens a pipe that no program writes to at once, in place of waiting for one. Windows has no such pipes. */
export const AT_ONCE: number = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** How often to look whether the program at the other end of a pipe has written. */
const PIPE_CHECK_MS = 10;

/**
 * Opens a file that is read as a whole, such as a key file or a list of excludes.
 *
 * @param read returns undefined if the file is too long; see `readUpTo`
 * @param flags how to open it; by default a named pipe is opened once a program writes to it
 */
export async function withSmallFile(
  path: string,
  what: string,
  read: (handle: FileHandle) => Promise<Uint8Array | undefined>,
  flags: number = constants.O_RDONLY,
): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined;
  try {
    const handle = await open(path, flags);
    try {
      bytes = await read(handle);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw usage(`cannot read the ${what} ${path}: ${reasonOf(error)}`, error);
  }
  if (bytes === undefined) throw usage(`the ${what} ${path} is too long`);
  return bytes;
}

/** @returns undefined if the file is longer */
export async function readUpTo(
  handle: FileHandle,
  limit: number = LENGTH_MAX,
): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { bytesRead, buffer } = await readSome(handle);
    if (bytesRead === 0) return Buffer.concat(pieces);
    length += bytesRead;
    if (length > limit) return undefined;
    pieces.push(buffer.subarray(0, bytesRead));
  }
}

async function readSome(
  handle: FileHandle,
): Promise<{ readonly bytesRead: number; readonly buffer: Uint8Array }> {
  for (;;) {
    try {
      return await handle.read(new Uint8Array(64 * 1024), 0, 64 * 1024, null);
    } catch (error) {
      // A pipe that was opened at once is empty, and a program has it open for writing.
      if (systemCodeOf(error) !== "EAGAIN") throw error;
      await setTimeout(PIPE_CHECK_MS);
    }
  }
}
