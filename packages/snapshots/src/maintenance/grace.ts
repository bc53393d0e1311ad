import type { Repository } from "../repository/repository.ts";
import type { RepositoryState } from "./repository-state.ts";

/** The grace period in seconds: the longest of the configuration and of all settings that are there. */
export function graceOf({ pinned }: Repository, { heads, settings }: RepositoryState): number {
  let grace = Math.max(pinned.graceSeconds, settings.head.settings.graceSeconds);
  for (const { head } of heads) {
    if (head.kind === "repo") grace = Math.max(grace, head.settings.graceSeconds);
  }
  return grace;
}
