import type { OpenSnapshot, ReadOptions } from "./open-snapshot.ts";
import type { WalkedEntry } from "./walk.ts";

/**
 * The entries of a snapshot whose name or path matches a pattern, in the order of `entries`. A pattern
 * without a slash is compared with names, one with a slash with whole paths. `*` stands for any text
 * without a slash, `**` for any text, `?` for one character other than a slash, `[a-z]` and `[!a-z]` for
 * one of a set.
 *
 * @throws StorageError `tree`
 */
export async function* find(
  opened: OpenSnapshot,
  pattern: string,
  options: ReadOptions = {},
): AsyncGenerator<WalkedEntry> {
  const glob = new Bun.Glob(pattern.replace(/^\/+/u, ""));
  const isPath = pattern.includes("/");
  for await (const walked of opened.entries("", { ...options, recursive: true })) {
    const bytes = isPath ? walked.path : walked.entry.name;
    if (glob.match(Buffer.from(bytes).toString("utf8"))) yield walked;
  }
}
