import { usage } from "../errors/failures.ts";
import { looksLikeIdentity, printable } from "../output/text.ts";
import { openInput } from "./input.ts";

/** No path and no address is so long; what has no end of line is no list. */
const ENTRY_MAX = 64 * 1024;

/**
 * Reads the entries of a list, or of standard input for `-`, as they come. Empty ones say nothing.
 *
 * @param separator what ends an entry: an end of line (LF, or CRLF), or a zero byte
 */
export async function* readList(path: string, separator: "\n" | "\0"): AsyncGenerator<string> {
  const name = path === "-" ? "standard input" : path;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const check = (entry: string): string => {
    if (entry.length > ENTRY_MAX) throw usage(`${name} is no list: an entry has no end`);
    // It must not be repeated as one that failed.
    if (looksLikeIdentity(entry)) throw usage(`${name} is no list: it holds an identity`);
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

/** Entries that stand on the command line, and then those of a list. */
export async function* given(
  first: readonly string[],
  list: AsyncIterable<string> | undefined,
): AsyncGenerator<string> {
  yield* first;
  if (list !== undefined) yield* list;
}

/**
 * Reads which files an earlier put has stored, from what it printed: lines of address and path, or
 * of JSON. Other lines say nothing.
 *
 * @returns whether a path is among them
 */
export async function storedBefore(list: string): Promise<(path: string) => boolean> {
  const stored = new Set<string>();
  for await (const line of readList(list, "\n")) {
    const path = line.startsWith("{")
      ? pathOfJson(line)
      : /^[0-9a-f]{64} {2}(.+)$/u.exec(line)?.[1];
    if (path !== undefined) stored.add(path);
  }
  // As it is printed: a path that holds controls stands there in another form.
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
  return printable(value.file);
}
