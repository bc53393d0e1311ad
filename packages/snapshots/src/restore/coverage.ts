import { type Root, isAbsolute, joinPaths, rootIn } from "../walk/roots.ts";
import { compileExcludes, pathText } from "../walk/excludes.ts";
import type { Snapshot } from "../format/records/snapshot.ts";
import { namesOf } from "../read/paths.ts";

/**
 * What a backup looked at. Only there does a name that the snapshot lacks mean that there was none. A folder
 * above the paths that were given has only what leads to these, whatever else was in it.
 */
export interface Coverage {
  /** Of the folder whose entries go into the target; undefined if the snapshot does not record that. */
  readonly root: Root | undefined;
  /** Whether the backup was told to leave out what has this path below the target, by a pattern. */
  leavesOut(path: readonly string[]): boolean;
}

/** @param path of the folder in the snapshot whose entries go into the target */
export function coverageOf(
  { paths, excludes }: Pick<Snapshot, "paths" | "excludes">,
  path: string | Uint8Array,
): Coverage {
  const names = namesOf(path);
  const above = names.map(pathText);
  try {
    const excluding = compileExcludes(excludes);
    return {
      // Of a relative path, nobody knows where it began.
      root: names.reduce<Root | undefined>(rootIn, joinPaths(paths.filter(isAbsolute))),
      leavesOut: (below) => excluding?.matches([...above, ...below]) === true,
    };
  } catch (error) {
    // No backup runs with a malformed pattern, so this is not what it was told.
    if (!(error instanceof RangeError)) throw error;
    return { root: undefined, leavesOut: () => true };
  }
}
