import { statfs } from "node:fs/promises";
import { Failure } from "../errors/failures.ts";
import { formatBytes } from "../output/text.ts";

/**
 * Makes sure that a file system has room.
 *
 * @param inside a file or folder of it
 * @param path of the file to write, for the message
 * @throws Failure `output`
 */
export async function assertRoom(bytes: number, inside: string, path: string): Promise<void> {
  const free = await freeBytes(inside);
  if (bytes <= free) return;
  throw new Failure(
    "output",
    `cannot write ${path}: it takes ${formatBytes(bytes)}, and the disk has ${formatBytes(free)} ` +
      "free; free some space or write to another disk",
  );
}

/** Bytes that this user may still write, infinitely many if that is not known. */
async function freeBytes(inside: string): Promise<number> {
  try {
    const { blocks, bsize, bavail, bfree } = await statfs(inside);
    // Some file systems over the network, and those of user programs, report nothing.
    if (blocks === 0) return Infinity;
    return (process.getuid?.() === 0 ? bfree : bavail) * bsize;
  } catch {
    return Infinity;
  }
}
