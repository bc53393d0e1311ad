import type { Metadata } from "@idk/storage";
import { lstat, stat } from "node:fs/promises";
import { basename } from "node:path";
import { pMapIterable } from "p-map";
import { PATH_KEY } from "../get/kept-names.ts";
import type { Totals } from "../progress/meter.ts";
import { folderNames } from "./folder-names.ts";
import { walkFolder } from "./walk-folder.ts";

/** A file to store. */
export interface FileToPut {
  readonly path: string;
  /**
   * Its path relative to the named folder it was found in, with `/`; below the name of the folder, if
   * other paths were named.
   */
  readonly inside?: string | undefined;
  /** Its real path when it was found in a folder. */
  readonly real?: string | undefined;
}

/** Called for everything else found in folders. */
export interface FolderEvents {
  skipped(path: string, why: string): Promise<void>;
  unreadable(path: string, error: Error): Promise<void>;
}

/** Called for everything that is not stored. */
export interface PutEvents extends FolderEvents {
  /**
   * A file that an earlier put has stored.
   *
   * @param difference from what was stored; empty if there is none
   */
  storedBefore(path: string, difference: string): Promise<void>;
}

export async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

/**
 * The named files, and the files in named folders.
 *
 * @param store the folder of the store, if it is one, which is skipped
 */
export async function* filesToPut(
  paths: readonly string[],
  store: string | undefined,
  events: FolderEvents,
): AsyncGenerator<FileToPut> {
  const folders = new Set<string>();
  for (const path of paths) if (path !== "-" && (await isFolder(path))) folders.add(path);
  // A folder by itself is stored without its name, so that a get can give it another.
  const names = paths.length > 1 ? folderNames([...folders]) : undefined;
  for (const path of paths) {
    if (!folders.has(path)) {
      yield { path };
      continue;
    }
    const below = names?.get(path) ?? "";
    for await (const found of walkFolder(path, { store })) {
      if (found.kind === "file") {
        yield below === "" ? found : { ...found, inside: `${below}/${found.inside}` };
      } else if (found.kind === "skipped") await events.skipped(found.path, found.why);
      else await events.unreadable(found.path, found.error);
    }
  }
}

/** One at a time would be queued behind the files being stored, and take as long as those. */
const MEASURED_AT_ONCE = 64;

/** The totals of the files to store. Unreadable files count as empty. */
export async function measureFiles(
  paths: readonly string[],
  store: string | undefined,
  signal: AbortSignal,
): Promise<Totals> {
  let [totalItems, totalBytes] = [0, 0];
  const silent = { skipped: async () => {}, unreadable: async () => {} };
  const sizeOf = async ({ path }: FileToPut): Promise<number> =>
    lstat(path).then(
      ({ size }) => size,
      () => 0,
    );
  const files = filesToPut(paths, store, silent);
  for await (const size of pMapIterable(files, sizeOf, { concurrency: MEASURED_AT_ONCE })) {
    signal.throwIfAborted();
    totalItems += 1;
    totalBytes += size;
  }
  // The length of standard input is unknown.
  return paths.includes("-") ? {} : { totalItems, totalBytes };
}

/** The metadata of a file, with its path if it was found in a folder. */
export async function metadataInside(
  { path, inside }: FileToPut,
  metadataOf: MetadataOf,
): Promise<Metadata> {
  const metadata = await metadataOf(path);
  if (inside === undefined) return metadata;
  return { name: basename(path), ...metadata, [PATH_KEY]: inside };
}

export interface MetadataSettings {
  /** A name, `false` for none, or undefined for the file's own. */
  readonly name: string | boolean | undefined;
  readonly type: string | undefined;
  /** Equal content must have equal addresses, whatever its source. */
  readonly deduplicated: boolean;
}

/** The metadata stored, encrypted, with the content of a file. */
export type MetadataOf = (path: string) => Promise<Metadata>;

/**
 * The base name and modification time of a file, never its path. With a dedup secret neither is
 * stored, so that identical content has one root. Standard input has neither.
 */
export function metadataOf({ name, type, deduplicated }: MetadataSettings): MetadataOf {
  const fixed = {
    ...(typeof name === "string" && { name }),
    ...(type !== undefined && { type }),
  };
  return async (path) => {
    if (path === "-" || name === false || deduplicated) return fixed;
    // If stat fails, reading will fail with a better message.
    const stats = await stat(path).catch(() => undefined);
    if (!stats?.isFile()) return fixed;
    const mtime = Math.trunc(stats.mtimeMs);
    return { name: basename(path), ...(mtime >= 0 && { mtime }), ...fixed };
  };
}
