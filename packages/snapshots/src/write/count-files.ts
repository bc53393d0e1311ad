import { type SelectingOptions, resolvedPaths, walkOptionsOf } from "./run-backup.ts";
import { joinPaths } from "../walk/roots.ts";
import { openHost } from "../files/open-host.ts";
import { walk } from "../walk/walk.ts";

/** How long others may have to wait. */
const TURN_MS = 5;

/**
 * Counts what a backup is going to store, for its progress, in small turns beside it: all entries but
 * folders, and the bytes of files. What cannot be read is left out.
 *
 * @throws StorageError `usage`; the signal's reason
 */
export async function countFiles(
  options: SelectingOptions,
  signal?: AbortSignal,
): Promise<{ readonly files: number; readonly bytes: number }> {
  let [files, bytes] = [0, 0];
  let began = performance.now();
  const root = joinPaths(resolvedPaths(options));
  for (const step of walk(await openHost(), root, walkOptionsOf(options))) {
    if (step.kind === "entry") {
      files += 1;
      if (step.stat.type === "file") bytes += step.stat.size;
    }
    if (performance.now() - began < TURN_MS) continue;
    await new Promise<void>((resolve) => setImmediate(resolve));
    signal?.throwIfAborted();
    began = performance.now();
  }
  return { files, bytes };
}
