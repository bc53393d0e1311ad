import type { Metadata } from "@idk/storage";
import { lstat, mkdir, readdir, realpath } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { type Failure, reasonOf, systemCodeOf, usage } from "../errors/failures.ts";
import { folderFailure } from "../folders.ts";
import { createClaims } from "./claims.ts";
import { createHeldFolders, type HeldFolder } from "./held-folders.ts";
import { isHiddenName } from "./hidden-names.ts";
import { keptName } from "./kept-names.ts";
import { isPartFile } from "./part-file.ts";

/** A folder for output files. No file is written outside of it. */
export interface OutputFolder {
  /**
   * Chooses the path of content, from the name in its metadata or else its address, and creates the
   * folders leading to it, unless it is refused.
   *
   * @throws Failure `usage` if a folder is blocked, for example by a symbolic link
   */
  destinationFor(address: string, metadata: Metadata): Promise<Destination>;
}

export interface Destination {
  /** Starts with the folder as it was given. */
  readonly path: string;
  /** Holds the folder that the file goes to; undefined if it is refused. */
  readonly hold: (() => HeldFolder) | undefined;
  /** The stored name, if the file could not have it. */
  readonly original?: string | undefined;
  /** Whether a part of the path is hidden, or obeyed by tools. */
  readonly hidden: boolean;
  /** Why nothing may be written there. A file that has the content already is fine. */
  readonly refused?: Failure | undefined;
}

export interface OutputFolderOptions {
  /** Whether to name files by the names in their metadata; otherwise by address. */
  readonly names: boolean;
  /** Whether hidden names are allowed even if the folder has other files. */
  readonly keepHidden: boolean;
}

/** Creates the folder if it does not exist. It may be a symbolic link. */
export async function openOutputFolder(
  folder: string,
  { names, keepHidden }: OutputFolderOptions,
): Promise<OutputFolder> {
  let root: string;
  let inUse: boolean;
  try {
    await mkdir(folder, { recursive: true });
    root = await realpath(folder);
    inUse = (await readdir(root)).some((name) => !isPartFile(name));
  } catch (error) {
    throw folderFailure(folder, error);
  }
  const claims = createClaims();
  const folders = createHeldFolders();
  /** The real paths of folders that are made and checked. */
  const made = new Map<string, Promise<string>>();
  const make = (segments: readonly string[]): Promise<string> => {
    const path = segments.join(sep);
    const known = made.get(path);
    if (known !== undefined) return known;
    const making = makeFolders(folder, root, segments);
    // Elsewhere, nobody would see that it is not there any more.
    if (folders.areHeld) {
      made.set(path, making);
      making.catch(() => made.delete(path));
    }
    return making;
  };
  const holding = (segments: readonly string[], path: string, real: string) => () => {
    try {
      return folders.hold(path, real);
    } catch (error) {
      // It was removed or replaced. The next file has it made and checked again.
      made.delete(segments.join(sep));
      throw error;
    }
  };
  return {
    async destinationFor(address, metadata) {
      const kept = names ? keptName(metadata) : undefined;
      const wanted = kept?.segments ?? [address];
      const segments = claims.claim(wanted, address);
      const path = join(folder, ...segments);
      const hidden = segments.some(isHiddenName);
      const refused =
        hidden && inUse && !keepHidden
          ? usage(
              `${path} was not written, because ${folder} has other files and tools may obey a file ` +
                "of this name: use a new folder or --keep-hidden",
            )
          : undefined;
      const above = segments.slice(0, -1);
      const hold =
        refused === undefined ? holding(above, dirname(path), await make(above)) : undefined;
      const moved = segments.join("/") !== wanted.join("/");
      const original = kept?.original ?? (moved ? wanted.join("/") : undefined);
      return { path, hold, original, hidden, refused };
    },
  };
}

/** It was removed or replaced meanwhile: only the files that go there fail. */
function unusable(path: string, cause: unknown): Failure {
  return usage(`cannot use the folder ${path}: ${reasonOf(cause)}`, cause);
}

/**
 * Creates one folder at a time, because a recursive mkdir would follow links. Another program may
 * replace a folder by a link at the same time; see HeldFolders.
 *
 * @returns the real path of the last one
 */
async function makeFolders(
  folder: string,
  root: string,
  segments: readonly string[],
): Promise<string> {
  let path = folder;
  for (const segment of segments) {
    path = join(path, segment);
    try {
      await mkdir(path);
    } catch (error) {
      if (systemCodeOf(error) !== "EEXIST") {
        throw usage(`cannot create the folder ${path}: ${reasonOf(error)}`, error);
      }
      const stats = await lstat(path).catch((cause: unknown) => {
        throw unusable(path, cause);
      });
      if (stats.isSymbolicLink()) {
        throw usage(`${path} is a symbolic link; nothing is written through it`);
      }
      if (!stats.isDirectory()) throw usage(`${path} exists and is not a folder`);
    }
  }
  const real = await realpath(path).catch((cause: unknown) => {
    throw unusable(path, cause);
  });
  if (real !== root && !real.startsWith(root.endsWith(sep) ? root : root + sep)) {
    throw usage(`${path} leads out of ${folder}; nothing is written there`);
  }
  return real;
}
