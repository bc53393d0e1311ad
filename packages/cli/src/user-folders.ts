import type { Environment } from "./session.ts";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Where the program keeps files of its own, by the XDG Base Directory Specification. */
export interface UserFolders {
  /** For what may be removed at any time. */
  readonly cache: string;
  /** For what belongs to this user on this machine. */
  readonly state: string;
}

export function userFolders(env: Environment): UserFolders {
  const home = env["HOME"] || homedir();
  // The specification has relative paths ignored.
  const folder = (variable: string, ...standard: string[]): string => {
    const given = env[variable] ?? "";
    return join(isAbsolute(given) ? given : join(home, ...standard), "idk");
  };
  return {
    cache: folder("XDG_CACHE_HOME", ".cache"),
    state: folder("XDG_STATE_HOME", ".local", "state"),
  };
}
