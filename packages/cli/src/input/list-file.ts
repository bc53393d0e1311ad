import { usage } from "../errors/failures.ts";
import { looksLikeIdentity, printable } from "../output/text.ts";
import { openInput } from "./input.ts";

/** Longer than any path or address: a file without line ends is not a list. */
const ENTRY_MAX = 64 * 1024;

/**
 * Reads the entries of a list, or of standard input for `-`, as they arrive. Skips empty ones.
 *
 * @param separator terminates an entry; with "\n", CRLF does too
 */
export async function* readList(path: string, separator: "\n" | "\0"): AsyncGenerator<string> {
  const name = path === "-" ? "standard input" : path;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const check = (entry: string): string => {
    if (entry.length > ENTRY_MAX)
      throw usage(`${name} is not a list: it has an entry of more than 64 KiB`);
    // An error message must not repeat it.
    if (looksLikeIdentity(entry)) throw usage(`${name} is not a list: it contains an identity`);
    return separator === "\n" && entry.endsWith("\r") ? entry.slice(0, -1) : entry;
  };
  let rest = "";
  const { content } = await openInput(path, { folder: `${path} is a folder: name a list` });
  for await (const piece of content) {
    const entries = (rest + decoder.decode(piece, { stream: true })).split(separator);
    rest = entries.pop() ?? "";
    if (rest.length > ENTRY_MAX) check(rest);
    for (const entry of entries.map(check)) if (entry !== "") yield entry;
  }
  const last = check(rest + decoder.decode());
  if (last !== "") yield last;
}

/** The entries on the command line, followed by those of a list. */
export async function* allEntries(
  first: readonly string[],
  list: AsyncIterable<string> | undefined,
): AsyncGenerator<string> {
  yield* first;
  if (list !== undefined) yield* list;
}

/**
 * Reads the output of an earlier put: lines of address and path, or of JSON. Ignores other lines.
 *
 * @returns whether a path was stored
 */
export async function storedBefore(list: string): Promise<(path: string) => boolean> {
  const stored = new Set<string>();
  for await (const line of readList(list, "\n")) {
    const path = line.startsWith("{")
      ? pathOfJson(line)
      : /^[0-9a-f]{64} {2}(.+)$/u.exec(line)?.[1];
    // The output contains escaped paths, and earlier versions escaped fewer characters.
    if (path !== undefined) stored.add(printable(path));
  }
  return (path) => stored.has(printable(path));
}

function pathOfJson(line: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  if (!("file" in value) || !("address" in value) || typeof value.file !== "string")
    return undefined;
  return value.file;
}
