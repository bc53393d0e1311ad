import { compileExcludes } from "../walk/excludes.ts";
import { StorageError } from "@idk/storage";

/** What a restore does with an entry: all of it, only what is below and included, or nothing. */
export type Selected = "all" | "below" | "none";

/** Decides what is restored, by the patterns to include and to exclude. */
export interface Selection {
  /** Whether everything is. */
  readonly isAll: boolean;
  /**
   * @param above what was decided for the folder that it is in
   * @param path the names from the target, its own last, as `pathText` makes them
   */
  of(above: Selected, path: readonly string[]): Selected;
}

/**
 * @throws StorageError `usage` if a pattern is malformed
 */
export function selectionOf(
  include: readonly string[] | undefined,
  exclude: readonly string[] | undefined,
): Selection {
  const [included, excluded] = [include, exclude].map((patterns) => {
    try {
      return compileExcludes(patterns ?? []);
    } catch (cause) {
      throw new StorageError("usage", (cause as Error).message, { cause });
    }
  });
  return {
    isAll: included === undefined && excluded === undefined,
    of(above, path) {
      if (above === "none" || excluded?.matches(path) === true) return "none";
      if (above === "all" || included === undefined) return "all";
      if (included.matches(path)) return "all";
      return included.mayMatchBelow(path) ? "below" : "none";
    },
  };
}
