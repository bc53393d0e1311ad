import type { Metadata } from "@idk/storage";
import { lstat, stat } from "node:fs/promises";
import { basename } from "node:path";
import { PATH_KEY } from "../get/kept-names.ts";
import type { Totals } from "../progress/meter.ts";
import { walkFolder } from "./walk-folder.ts";

/** A file to store. */
export interface FileToPut {
  readonly path: string;
  /** Where it was found in a folder that was named, relative to it, with `/`. */
  readonly inside?: string | undefined;
}

/** What happens to the other things that are found in folders. */
export interface FolderEvents {
  skipped(path: string, why: string): Promise<void>;
  unreadable(path: string, error: Error): Promise<void>;
}

/** What happens to all that is not stored. */
export interface PutEvents extends FolderEvents {
  /** One that an earlier put has stored. */
  storedBefore(): void;
}

export async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

/**
 * The files that are named, and those of folders that are.
 *
 * @param store the folder of the store, if it is one
 */
export async function* filesToPut(
  paths: Iterable<string>,
  store: string | undefined,
  events: FolderEvents,
): AsyncGenerator<FileToPut> {
  for (const path of paths) {
    if (path === "-" || !(await isFolder(path))) {
      yield { path };
      continue;
    }
    for await (const found of walkFolder(path, { store })) {
      if (found.kind === "file") yield { path: found.path, inside: found.inside };
      else if (found.kind === "skipped") await events.skipped(found.path, found.why);
      else await events.unreadable(found.path, found.error);
    }
  }
}

/** How much there is to store; what cannot be known before counts nothing. */
export async function measureFiles(
  paths: readonly string[],
  store: string | undefined,
  signal: AbortSignal,
): Promise<Totals> {
  let [totalItems, totalBytes] = [0, 0];
  const silent = { skipped: async () => {}, unreadable: async () => {} };
  for await (const { path } of filesToPut(paths, store, silent)) {
    signal.throwIfAborted();
    totalItems += 1;
    totalBytes += await lstat(path).then(
      ({ size }) => size,
      () => 0,
    );
  }
  // Nobody knows how much comes from standard input.
  return paths.includes("-") ? {} : { totalItems, totalBytes };
}

/** What is kept with a file of a folder: also where it was. */
export async function metadataInside(
  { path, inside }: FileToPut,
  metadataOf: MetadataOf,
): Promise<Metadata> {
  const metadata = await metadataOf(path);
  if (inside === undefined) return metadata;
  return { name: basename(path), ...metadata, [PATH_KEY]: inside };
}

export interface MetadataSettings {
  /** A name, `false` for none at all, or undefined for the file's own. */
  readonly name: string | boolean | undefined;
  readonly type: string | undefined;
  /** Content is to give the same address again, wherever it comes from. */
  readonly deduplicated: boolean;
}

/** What is kept, encrypted, with the content of one file. */
export type MetadataOf = (path: string) => Promise<Metadata>;

/**
 * Keeps the base name of a file and when it was last changed, as people expect of a place for
 * files; never its path. Not so with a dedup secret, for then equal content of two files would be two
 * roots; and standard input has neither.
 */
export function metadataOf({ name, type, deduplicated }: MetadataSettings): MetadataOf {
  const said = {
    ...(typeof name === "string" && { name }),
    ...(type !== undefined && { type }),
  };
  return async (path) => {
    if (path === "-" || name === false || deduplicated) return said;
    // What cannot be looked at cannot be read either, and reading says so better.
    const stats = await stat(path).catch(() => undefined);
    if (!stats?.isFile()) return said;
    const mtime = Math.trunc(stats.mtimeMs);
    return { name: basename(path), ...(mtime >= 0 && { mtime }), ...said };
  };
}
