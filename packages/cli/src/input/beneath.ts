import { type BigIntStats, constants, readlinkSync } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { dirname } from "node:path";

/*
 * Opens files beneath a folder that someone else may change at the same time. Node has no openat(2).
 */

const { O_NOFOLLOW, O_NONBLOCK } = constants;

/** On macOS, from fcntl.h: opening fails if any part of the path is a link. Node does not name it. */
const O_NOFOLLOW_ANY = 0x2000_0000;

/** How to open a found file: the flags, and whether by its real path, which contains no links. */
export const OPEN_BENEATH: { readonly flags: number; readonly real: boolean } =
  process.platform === "darwin"
    ? { flags: O_NOFOLLOW_ANY | O_NONBLOCK, real: true }
    : // Opening a pipe that has taken the place of a file must not wait for a writer.
      { flags: O_NOFOLLOW | O_NONBLOCK, real: false };

/**
 * Whether an open file is not the one at its real path, because a folder on the way there was replaced
 * by a link. On Linux the kernel knows the path by which it was opened; on macOS it was opened without
 * following links. Elsewhere the path is followed a second time, which a folder that is replaced twice
 * can deceive.
 *
 * @param file the descriptor
 */
export async function ledElsewhere(
  file: number,
  { dev, ino }: BigIntStats,
  real: string,
): Promise<boolean> {
  const path = pathOfOpen(file);
  // If it was removed or replaced since, the kernel adds a mark.
  if (path !== undefined) return path !== real && path !== `${real} (deleted)`;
  if (OPEN_BENEATH.real) return false;
  try {
    const folder = dirname(real);
    const now = await lstat(real, { bigint: true });
    return now.dev !== dev || now.ino !== ino || (await realpath(folder)) !== folder;
  } catch {
    return true;
  }
}

/** @returns undefined if the system does not tell */
function pathOfOpen(file: number): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    return readlinkSync(`/proc/self/fd/${file}`);
  } catch {
    return undefined;
  }
}
