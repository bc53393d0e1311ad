import type { BackupSummary } from "@idk/snapshots";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { array, type InferOutput, number, object, optional, safeParse, string } from "valibot";
import { codeOf, messageOf, reasonOrMessageOf } from "../errors/failures.ts";
import { pathText, rootless } from "./entries.ts";

const SCHEMA = object({
  /** Milliseconds since 1970, by this machine's clock. */
  at: number(),
  /** Files that could not be read. */
  failed: number(),
  /** The first of these, safe to print. */
  files: array(object({ path: string(), message: string() })),
  /** Why there is no snapshot; undefined if there is one. */
  error: optional(object({ code: string(), message: string() })),
});

/** How the last backup of a name on this machine ended, which no snapshot records. */
export type LastRun = InferOutput<typeof SCHEMA>;

export function lastRunOf({ errors, errorList }: BackupSummary): LastRun {
  const files = errorList.map(({ path, error }) => ({
    path: pathText(rootless(path)),
    message: reasonOrMessageOf(error),
  }));
  return { at: Date.now(), failed: errors, files };
}

export function failedRun(error: unknown): LastRun {
  const failure = { code: codeOf(error), message: messageOf(error) };
  return { at: Date.now(), failed: 0, files: [], error: failure };
}

/** Is for `idk status` alone, so a backup does not fail if this cannot be written. */
export async function saveLastRun(path: string, run: LastRun): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(`${path}.new`, JSON.stringify(run), { mode: 0o600 });
    await rename(`${path}.new`, path);
  } catch {
    // The disk may be full.
  }
}

/** @returns undefined if there is none, or something else */
export async function loadLastRun(path: string): Promise<LastRun | undefined> {
  try {
    const { success, output } = safeParse(SCHEMA, JSON.parse(await readFile(path, "utf8")));
    return success ? output : undefined;
  } catch {
    return undefined;
  }
}
