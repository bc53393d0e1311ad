/** Files to measure with. Nothing here keeps a whole file in memory. */
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { run, shell } from "./processes.ts";

/**
 * Runs work with a folder below IDK_BENCH_DIR, by default the system's temporary folder, and removes the
 * folder afterwards.
 */
export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(process.env["IDK_BENCH_DIR"] || tmpdir(), "idk-bench-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Environment variables that put a command's journals, keys and settings below the run's folder, so that
 * it does not read or change the user's own.
 */
export function isolatedUserFolders(folder: string): Record<string, string> {
  // Programs ignore relative paths in these variables.
  const below = (name: string) => resolve(folder, "user", name);
  return {
    XDG_CACHE_HOME: below("cache"),
    XDG_STATE_HOME: below("state"),
    XDG_CONFIG_HOME: below("config"),
    XDG_DATA_HOME: below("data"),
  };
}

/** Writes a new file of random bytes and syncs it to disk. */
export async function writeRandomFile(path: string, length: number): Promise<void> {
  const script = 'set -o noclobber; head -c "$1" /dev/urandom >"$2"; sync -- "$2"';
  await run({ argv: shell(script, [String(length), path]) });
}

/** The SHA-256 of a file as 64 hex digits, computed by another process to keep this one small. */
export async function sha256OfFile(path: string): Promise<string> {
  const { stdout } = await run({ argv: ["sha256sum", "--", path] });
  return stdout.slice(0, 64);
}

/** Syncs a file and its folder to disk and returns the seconds that took. */
export async function syncToDisk(path: string): Promise<number> {
  const start = performance.now();
  for (const each of [path, dirname(path)]) {
    await using handle = await open(each);
    await handle.sync();
  }
  return (performance.now() - start) / 1000;
}
