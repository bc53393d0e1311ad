import { closeSync, constants, existsSync, openSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { reasonOf, usage } from "../errors/failures.ts";
import { foldedName } from "./safe-name.ts";

/**
 * Folders in which files are created and named as openat(2) would, even if someone replaces the folder, or
 * one above it, by a link. Only Linux offers that; elsewhere, they are found by their paths.
 */
export interface HeldFolders {
  /** Whether a folder stays what it was when it was checked. */
  readonly areHeld: boolean;
  /**
   * Opens a folder, or takes one that is open from an earlier file.
   *
   * @param real its real path
   * @throws Failure `usage` if it is not there any more
   */
  hold(path: string, real: string): HeldFolder;
}

export interface HeldFolder {
  /** Where to find a file of this name in it. */
  at(name: string): string;
  /** Call it once. */
  release(): void;
}

/** Folders that stay open when no file needs them, because the next one is often in the same. */
const KEPT = 16;

interface Open {
  readonly descriptor: number;
  files: number;
}

export function createHeldFolders(): HeldFolders {
  const areHeld = process.platform === "linux" && existsSync("/proc/self/fd");
  /** The one that was used last is at the end. */
  const kept = new Map<string, Open>();

  const isAt = ({ descriptor }: Open, real: string): boolean => {
    try {
      // Some file systems ignore the difference of upper and lower case.
      return foldedName(readlinkSync(placeOf(descriptor))) === foldedName(real);
    } catch {
      return false;
    }
  };
  const forget = (path: string, folder: Open): void => {
    if (kept.get(path) === folder) kept.delete(path);
    if (folder.files === 0) closeSync(folder.descriptor);
  };
  const open = (path: string, real: string): Open => {
    let folder: Open;
    try {
      const descriptor = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
      folder = { descriptor, files: 0 };
    } catch (error) {
      throw usage(`cannot create a file in ${path}: ${reasonOf(error)}`, error);
    }
    if (isAt(folder, real)) return folder;
    forget(path, folder);
    throw usage(`${path} was moved or replaced by a link; nothing is written there`);
  };

  return {
    areHeld,
    hold(path, real) {
      if (!areHeld) return { at: (name) => join(path, name), release() {} };
      let folder = kept.get(path);
      if (folder !== undefined && !isAt(folder, real)) {
        forget(path, folder);
        folder = undefined;
      }
      folder ??= open(path, real);
      folder.files += 1;
      kept.delete(path);
      kept.set(path, folder);
      const { descriptor } = folder;
      return {
        at: (name) => join(placeOf(descriptor), name),
        release() {
          folder.files -= 1;
          if (kept.get(path) !== folder) forget(path, folder);
          for (const [other, idle] of kept) {
            if (kept.size <= KEPT) return;
            if (idle.files === 0) forget(other, idle);
          }
        },
      };
    },
  };
}

function placeOf(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`;
}
