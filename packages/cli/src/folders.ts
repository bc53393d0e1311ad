import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { type Failure, reasonOf, systemCodeOf, usage } from "./errors/failures.ts";
import type { Environment } from "./invocation.ts";

/** Where the program keeps files of its own, by the XDG Base Directory Specification. */
export interface UserFolders {
  /** For what may be removed at any time. */
  readonly cache: string;
  /** For what people write by hand. */
  readonly config: string;
  /** For what is to be kept. */
  readonly data: string;
  /** For what belongs to this user on this machine. */
  readonly state: string;
}

export function userFolders(env: Environment): UserFolders {
  const home = homeOf(env);
  // The specification has relative paths ignored.
  const folder = (variable: string, ...standard: string[]): string => {
    const given = env[variable] ?? "";
    return join(isAbsolute(given) ? given : join(home, ...standard), "idk");
  };
  return {
    cache: folder("XDG_CACHE_HOME", ".cache"),
    config: folder("XDG_CONFIG_HOME", ".config"),
    data: folder("XDG_DATA_HOME", ".local", "share"),
    state: folder("XDG_STATE_HOME", ".local", "state"),
  };
}

export function homeOf(env: Environment): string {
  return env["HOME"] || homedir();
}

/** Replaces the `~/` that a path begins with, as a shell would have. */
export function expandHome(path: string, env: Environment): string {
  return path === "~" || path.startsWith("~/") ? join(homeOf(env), path.slice(1)) : path;
}

/**
 * Makes the folder of a store, unless it is there.
 *
 * @returns whether it was made
 */
export async function createFolder(path: string): Promise<boolean> {
  try {
    return (await mkdir(path, { recursive: true, mode: 0o700 })) !== undefined;
  } catch (error) {
    throw folderFailure(path, error);
  }
}

/** What is said of a folder that could not be made. */
export function folderFailure(path: string, error: unknown): Failure {
  // A folder that is there is no error.
  const reason =
    systemCodeOf(error) === "EEXIST" ? "a file of that name is there" : reasonOf(error);
  return usage(`cannot create the folder ${path}: ${reason}`, error);
}
