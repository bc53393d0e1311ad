import type { OpenSnapshot, ReadOptions } from "./open-snapshot.ts";
import { compileFinder, pathText } from "../walk/excludes.ts";
import { StorageError } from "@idk/storage";
import type { WalkedEntry } from "./walk.ts";

/**
 * The entries of a snapshot whose name or path matches a pattern, in the order of `entries`. A pattern
 * without a slash is compared with names, one with a slash with whole paths. `*` stands for any text
 * within a name, `**` for any number of folders, and at the end for all below, `?` for one character,
 * `[a-z]` and `[!a-z]` for one of a set, and `\` in front takes a character as it is.
 *
 * @throws StorageError `usage` if the pattern is malformed, `tree`
 */
export async function* find(
  opened: OpenSnapshot,
  pattern: string,
  options: ReadOptions = {},
): AsyncGenerator<WalkedEntry> {
  const matches = finderOf(pattern);
  for await (const walked of opened.entries("", { ...options, recursive: true })) {
    if (matches(walked)) yield walked;
  }
}

function finderOf(pattern: string): (walked: WalkedEntry) => boolean {
  try {
    const matches = compileFinder(pattern);
    if (!pattern.includes("/")) return ({ entry }) => matches([pathText(entry.name)]);
    return ({ path }) => matches(components(path));
  } catch (cause) {
    throw new StorageError("usage", (cause as Error).message, { cause });
  }
}

const SLASH = 0x2f;

function components(path: Uint8Array): string[] {
  const names: string[] = [];
  for (let start = 0; start <= path.length;) {
    const slash = path.indexOf(SLASH, start);
    const end = slash === -1 ? path.length : slash;
    names.push(pathText(path.subarray(start, end)));
    start = end + 1;
  }
  return names;
}
