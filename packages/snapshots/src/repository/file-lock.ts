import { lstat, open, unlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** How often a lock that another process has is looked at. */
const POLL_MS = 20;
/** What is done under a lock takes a moment, so one that stays as it is for so long was left by a crash. */
const LEFT_MS = 10_000;

/**
 * Does the work while no other process or call does any under the same lock: a file that only one can make.
 * Runtimes have no lock that the system takes back itself, so one that a crash has left is waited for.
 *
 * @param path of the lock, in a folder that exists
 * @throws Error of the system, if the lock cannot be made; and what the work throws
 */
export async function withFileLock<T>(
  path: string,
  work: () => Promise<T>,
  { leftMs = LEFT_MS }: { readonly leftMs?: number } = {},
): Promise<T> {
  let seen: { readonly lock: string; readonly since: number } | undefined;
  while (!(await make(path))) {
    const lock = await identityOf(path);
    if (lock === undefined) continue;
    if (seen?.lock !== lock) seen = { lock, since: performance.now() };
    // By how long this process has seen it, because clocks may be wrong, and a machine may have slept.
    else if (performance.now() - seen.since > leftMs) await remove(path);
    await sleep(POLL_MS);
  }
  try {
    return await work();
  } finally {
    await remove(path);
  }
}

async function make(path: string): Promise<boolean> {
  try {
    await (await open(path, "wx", 0o600)).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Differs between two locks of the same name; undefined if there is none any more. */
async function identityOf(path: string): Promise<string | undefined> {
  try {
    const { ino, mtimeNs } = await lstat(path, { bigint: true });
    return `${ino} ${mtimeNs}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function remove(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
}
