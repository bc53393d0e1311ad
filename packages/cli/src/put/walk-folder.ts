import type { Dirent } from "node:fs";
import { lstat, readdir, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { reasonOf, systemCodeOf, usage } from "../errors/failures.ts";

/** What there is in a folder, and below. */
export type Found =
  | { readonly kind: "file"; readonly path: string; readonly inside: string }
  /** Of no kind that is stored; `why` follows the path. */
  | { readonly kind: "skipped"; readonly path: string; readonly why: string }
  /** What should be stored, and cannot be read. */
  | { readonly kind: "unreadable"; readonly path: string; readonly error: Error };

export interface WalkOptions {
  /** A folder to leave out, where it lies below: the store, when it is in what it is to hold. */
  readonly store?: string | undefined;
}

/**
 * Walks a folder and all below it: in the order of the names, folder by folder, hidden files as
 * well. Symbolic links are not followed, except where the folder itself is one: nothing from outside
 * gets in.
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
    if (store !== undefined && join(root, ...parts) === store) {
      yield { kind: "skipped", path, why: "is the store itself" };
      return;
    }
    let entries: Dirent[];
    try {
      entries = await readdir(path, { withFileTypes: true });
    } catch (error) {
      const reason = usage(`cannot read the folder ${path}: ${reasonOf(error)}`, error);
      yield { kind: "unreadable", path, error: reason };
      return;
    }
    if (entries.length === 0) yield { kind: "skipped", path, why: "is an empty folder" };
    // By code units: the same on every machine, whatever its language.
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const here = [...parts, entry.name];
      if (entry.isDirectory()) yield* walk(here);
      else yield await classified(entry, join(path, entry.name), here.join("/"));
    }
  }
  yield* walk([]);
}

/** Also of what is not there yet, such as a store before its first put. */
async function realPathOf(path: string): Promise<string> {
  const whole = resolve(path);
  const above = dirname(whole);
  return realpath(whole).catch(async () =>
    above === whole ? whole : join(await realPathOf(above), basename(whole)),
  );
}

async function classified(entry: Dirent, path: string, inside: string): Promise<Found> {
  if (entry.isFile()) {
    if (await isUnnameable(path)) {
      const error = usage(`cannot read ${path}: its name is not UTF-8: give it another`);
      return { kind: "unreadable", path, error };
    }
    return { kind: "file", path, inside };
  }
  return { kind: "skipped", path, why: kindOf(entry) };
}

/** The system shows bytes that are no text as U+FFFD, and does not know that name. */
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
  return "is no regular file";
}
