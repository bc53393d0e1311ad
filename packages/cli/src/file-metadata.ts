import type { Metadata } from "@idk/storage";
import { basename } from "node:path";
import { stat } from "node:fs/promises";

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
