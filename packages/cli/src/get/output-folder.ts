import type { Metadata } from "@idk/storage";
import { lstat, mkdir, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { reasonOf, systemCodeOf, usage } from "../errors/failures.ts";
import { folderFailure } from "../folders.ts";
import { createClaims } from "./claims.ts";
import { keptName } from "./kept-names.ts";

/** A folder that files are written into, and that nothing written into it leaves. */
export interface OutputFolder {
  /**
   * Finds the place of a content: by the name that it has inside, or else by its address. Makes the
   * folders on the way.
   *
   * @throws Failure `usage` where something is in the way, such as a symbolic link
   */
  place(address: string, metadata: Metadata): Promise<Place>;
}

export interface Place {
  /** Below the folder as it was given. */
  readonly path: string;
  /** The name inside, where the file could not have it. */
  readonly original?: string | undefined;
}

export interface OutputFolderOptions {
  /** Whether files get the names that contents have inside; otherwise all have addresses. */
  readonly names: boolean;
}

/** Makes the folder, unless it is there. That it may be a symbolic link is its owner's affair. */
export async function openOutputFolder(
  folder: string,
  { names }: OutputFolderOptions,
): Promise<OutputFolder> {
  let root: string;
  try {
    await mkdir(folder, { recursive: true });
    root = await realpath(folder);
  } catch (error) {
    throw folderFailure(folder, error);
  }
  const claims = createClaims();
  return {
    async place(address, metadata) {
      const kept = names ? keptName(metadata) : undefined;
      const wanted = kept?.segments ?? [address];
      const segments = claims.claim(wanted, address);
      await makeFolders(folder, root, segments.slice(0, -1));
      const moved = segments.join("/") !== wanted.join("/");
      return {
        path: join(folder, ...segments),
        original: kept?.original ?? (moved ? wanted.join("/") : undefined),
      };
    },
  };
}

/**
 * One after the other, since a recursive mkdir would follow links. Another program that exchanges
 * folders for links at this very moment is not kept from it: whoever can do that can also move the
 * files afterwards.
 */
async function makeFolders(
  folder: string,
  root: string,
  segments: readonly string[],
): Promise<void> {
  let path = folder;
  for (const segment of segments) {
    path = join(path, segment);
    try {
      await mkdir(path);
    } catch (error) {
      if (systemCodeOf(error) !== "EEXIST") {
        throw usage(`cannot create the folder ${path}: ${reasonOf(error)}`, error);
      }
      const stats = await lstat(path);
      if (stats.isSymbolicLink()) {
        throw usage(`${path} is a symbolic link: nothing is written through it`);
      }
      if (!stats.isDirectory()) throw usage(`${path} is in the way: a folder is to be there`);
    }
  }
  const real = await realpath(path);
  if (real !== root && !real.startsWith(root.endsWith(sep) ? root : root + sep)) {
    throw usage(`${path} leads out of ${folder}: nothing is written there`);
  }
}
