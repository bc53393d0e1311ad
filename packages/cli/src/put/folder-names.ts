import { resolve, sep } from "node:path";

/**
 * What the stored paths of a folder's files begin with if it is stored together with others: the last
 * components of its own path, as many as tell the folders apart.
 *
 * @returns by the folder as it was given; never with a link resolved
 */
export function folderNames(folders: readonly string[]): ReadonlyMap<string, string> {
  const whole = new Map(
    folders.map((folder) => [folder, resolve(folder).split(sep).filter(Boolean)]),
  );
  const distinct = new Set([...whole.values()].map((parts) => parts.join("/")));
  const longest = Math.max(0, ...[...whole.values()].map(({ length }) => length));
  for (let length = 1; ; length += 1) {
    const names = new Map(
      [...whole].map(([folder, parts]) => [folder, parts.slice(-length).join("/")]),
    );
    // Some file systems take names for the same that differ in case or normalization.
    const folded = new Set([...names.values()].map((name) => name.normalize("NFC").toLowerCase()));
    if (folded.size >= distinct.size || length >= longest) return names;
  }
}
