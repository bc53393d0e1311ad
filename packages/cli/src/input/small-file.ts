import { type FileHandle, open } from "node:fs/promises";
import { Failure, reasonOf, usage } from "../errors/failures.ts";

/** Such files are short; a mistyped path may name anything. */
const LENGTH_MAX = 2 ** 20;

/**
 * Opens a file that is read as a whole, such as a key file or a list of excludes.
 *
 * @param read returns undefined if the file is too long; see `readUpTo`
 */
export async function withSmallFile(
  path: string,
  what: string,
  read: (handle: FileHandle) => Promise<Uint8Array | undefined>,
): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined;
  try {
    const handle = await open(path, "r");
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
    const { bytesRead, buffer } = await handle.read(new Uint8Array(64 * 1024), 0, 64 * 1024, null);
    if (bytesRead === 0) return Buffer.concat(pieces);
    length += bytesRead;
    if (length > limit) return undefined;
    pieces.push(buffer.subarray(0, bytesRead));
  }
}
