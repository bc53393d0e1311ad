/** Files to measure with. Nothing here holds a whole one in memory. */
import { randomFillSync } from "node:crypto";
import { mkdtemp, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { run } from "./processes.ts";

const MIB = 2 ** 20;

/** A folder of this run's own, on the disk that IDK_BENCH_DIR names, by default the temporary one. */
export function temporaryFolder(): Promise<string> {
  return mkdtemp(join(process.env["IDK_BENCH_DIR"] || tmpdir(), "idk-bench-"));
}

/**
 * Environment of a command that keeps to itself: its journals, keys and settings go below the run's
 * folder, and nothing of the person's own is read or left changed.
 */
export function isolatedUserFolders(folder: string): Record<string, string> {
  // Absolute, because programs ignore relative paths here.
  const below = (name: string) => resolve(folder, "user", name);
  return {
    XDG_CACHE_HOME: below("cache"),
    XDG_STATE_HOME: below("state"),
    XDG_CONFIG_HOME: below("config"),
  };
}

/** Writes a file of random bytes, and brings it to the disk. */
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

/** The SHA-256 of a file, as 64 hex digits; by another process, which keeps this one small. */
export async function sha256OfFile(path: string): Promise<string> {
  const { stdout } = await run({ argv: ["sha256sum", "--", path] });
  return stdout.slice(0, 64);
}

/** Waits until a file and its name are on the disk, and says how many seconds that took. */
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
