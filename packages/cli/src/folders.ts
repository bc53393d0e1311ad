import { mkdir, open } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { type Failure, reasonOf, systemCodeOf, usage } from "./errors/failures.ts";
import type { Environment } from "./invocation.ts";

/** The program's own folders, following the XDG Base Directory Specification. */
export interface UserFolders {
  /** May be removed at any time. */
  readonly cache: string;
  /** Written by the user. */
  readonly config: string;
  /** To be kept. */
  readonly data: string;
  /** Specific to this user on this machine. */
  readonly state: string;
}

export function userFolders(env: Environment): UserFolders {
  const home = homeOf(env);
  // The specification says to ignore relative paths.
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

/** Expands a leading `~/`, as a shell does. */
export function expandHome(path: string, env: Environment): string {
  return path === "~" || path.startsWith("~/") ? join(homeOf(env), path.slice(1)) : path;
}

/**
 * Creates a folder if it does not exist, so that it survives a power failure.
 *
 * @returns whether it was created
 */
export async function createFolder(path: string): Promise<boolean> {
  let first: string | undefined;
  try {
    first = await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw folderFailure(path, error);
  }
  if (first === undefined) return false;
  const top = dirname(resolve(first));
  for (let at = resolve(path); at !== top && at !== dirname(at);) {
    at = dirname(at);
    await syncFolder(at);
  }
  return true;
}

/**
 * Flushes the names in a folder to the disk.
 *
 * @returns false if this system or file system cannot do that
 */
export async function syncFolder(path: string): Promise<boolean> {
  try {
    const folder = await open(path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
    return true;
  } catch {
    return false;
  }
}

export function folderFailure(path: string, error: unknown): Failure {
  // An existing folder is not an error, so it is something else.
  const reason = systemCodeOf(error) === "EEXIST" ? "a file of that name exists" : reasonOf(error);
  return usage(`cannot create the folder ${path}: ${reason}`, error);
}
