/** Files to measure with. Nothing here keeps a whole file in memory. */
import { randomFillSync } from "node:crypto";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { run } from "./processes.ts";

const MIB = 2 ** 20;

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

/** Writes a file of random bytes and syncs it to disk. */
export async function writeRandomFile(path: string, length: number): Promise<void> {
  const piece = Buffer.alloc(MIB);
  const file = await open(path, "wx");
  try {
    for (let written = 0; written < length; written += MIB) {
      await file.write(randomFillSync(piece), 0, Math.min(MIB, length - written));
    }
    await file.sync();
  } finally {
    await file.close();
  }
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
    const handle = await open(each);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
  return (performance.now() - start) / 1000;
}
