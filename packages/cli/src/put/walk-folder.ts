import type { Dirent } from "node:fs";
import { lstat, readdir, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { reasonOf, systemCodeOf, usage } from "../errors/failures.ts";

/** An entry in a folder or below it. */
export type Found =
  | {
      readonly kind: "file";
      readonly path: string;
      readonly inside: string;
      /** Its absolute path without links. */
      readonly real: string;
    }
  /** Not a regular file; `why` follows the path in messages. */
  | { readonly kind: "skipped"; readonly path: string; readonly why: string }
  /** A file or folder that cannot be read. */
  | { readonly kind: "unreadable"; readonly path: string; readonly error: Error };

export interface WalkOptions {
  /** The folder of the store, which is skipped if it is inside. */
  readonly store?: string | undefined;
}

/**
 * Walks a folder depth-first in the order of names, including hidden files. Symbolic links are not
 * followed, unless the folder itself is one, so that no file from outside is included.
 */
export async function* walkFolder(
  folder: string,
  options: WalkOptions = {},
): AsyncGenerator<Found> {
  const root = await realpath(folder).catch((error: unknown) => {
    throw usage(`cannot read ${folder}: ${reasonOf(error)}`, error);
  });
  const store = options.store === undefined ? undefined : await realPathOf(options.store);

  async function* walk(parts: readonly string[]): AsyncGenerator<Found> {
    const path = join(folder, ...parts);
    const real = join(root, ...parts);
    if (real === store) {
      yield { kind: "skipped", path, why: "is the store itself" };
      return;
    }
    let entries: Dirent[];
    try {
      entries = await readdir(path, { withFileTypes: true });
      // Someone else may have replaced it by a link since its own folder was listed.
      if ((await realpath(path)) !== real) {
        throw new Error("it was moved or replaced by a link while its files were stored");
      }
    } catch (error) {
      const reason = usage(`cannot read the folder ${path}: ${reasonOf(error)}`, error);
      yield { kind: "unreadable", path, error: reason };
      return;
    }
    if (entries.length === 0) yield { kind: "skipped", path, why: "is an empty folder" };
    // By code units, so that the order does not depend on the locale.
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const here = [...parts, entry.name];
      if (entry.isDirectory()) yield* walk(here);
      else
        yield await classified(
          entry,
          join(path, entry.name),
          here.join("/"),
          join(real, entry.name),
        );
    }
  }
  yield* walk([]);
}

/** Also for a path that does not exist yet, such as a store before its first put. */
async function realPathOf(path: string): Promise<string> {
  const whole = resolve(path);
  const above = dirname(whole);
  return realpath(whole).catch(async () =>
    above === whole ? whole : join(await realPathOf(above), basename(whole)),
  );
}

async function classified(
  entry: Dirent,
  path: string,
  inside: string,
  real: string,
): Promise<Found> {
  if (entry.isFile()) {
    if (await isUnnameable(path)) {
      const error = usage(`cannot read ${path}: its name is not UTF-8; rename it`);
      return { kind: "unreadable", path, error };
    }
    return { kind: "file", path, inside, real };
  }
  return { kind: "skipped", path, why: kindOf(entry) };
}

/** The runtime decodes invalid UTF-8 as U+FFFD, and the file does not exist under that name. */
async function isUnnameable(path: string): Promise<boolean> {
  if (!path.includes("\ufffd")) return false;
  return lstat(path).then(
    () => false,
    (error: unknown) => systemCodeOf(error) === "ENOENT",
  );
}

function kindOf(entry: Dirent): string {
  if (entry.isSymbolicLink()) return "is a symbolic link, which is not followed";
  if (entry.isFIFO()) return "is a pipe";
  if (entry.isSocket()) return "is a socket";
  return "is not a regular file";
}
