import { usage } from "../errors/failures.ts";
import { looksLikeIdentity } from "../output/text.ts";
import { openInput } from "./input.ts";

/** Longer than any path or address: a file without line ends is not a list. */
const ENTRY_MAX = 64 * 1024;

/** JSON can contain all metadata of a content. */
const JSON_MAX = 2 ** 20;

/**
 * Reads the entries of a list, or of standard input for `-`, as they arrive. Skips empty ones.
 *
 * @param separator terminates an entry; with "\n", CRLF does too
 * @param signal ends a read of standard input with its reason
 */
export async function* readList(
  path: string,
  separator: "\n" | "\0",
  signal: AbortSignal,
): AsyncGenerator<string> {
  const name = path === "-" ? "standard input" : path;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const check = (entry: string): string => {
    const isJson = entry.startsWith("{");
    if (entry.length > (isJson ? JSON_MAX : ENTRY_MAX))
      throw usage(
        `${name} is not a list: it has an entry of more than ${isJson ? "1 MiB" : "64 KiB"}`,
      );
    // An error message must not repeat it. In JSON it is a name that a sender chose.
    if (!isJson && looksLikeIdentity(entry))
      throw usage(`${name} is not a list: it contains an identity`);
    return separator === "\n" && entry.endsWith("\r") ? entry.slice(0, -1) : entry;
  };
  let rest = "";
  const folder = `${path} is a folder: name a list`;
  const { content } = await openInput(path, { folder, signal });
  for await (const piece of content) {
    const entries = (rest + decoder.decode(piece, { stream: true })).split(separator);
    rest = entries.pop() ?? "";
    if (rest.length > ENTRY_MAX) check(rest);
    for (const entry of entries.map(check)) if (entry !== "") yield entry;
  }
  const last = check(rest + decoder.decode());
  if (last !== "") yield last;
}

/** A line of a list. */
export interface Line {
  /** The line itself, or the value in its JSON; undefined if that has none. */
  readonly text: string | undefined;
  readonly json: boolean;
  /** Whether it names a blob that replaces a previous one. */
  readonly replaces: boolean;
}

/**
 * Parses a line, which may be the JSON of any command. JSON of an item that a command has skipped
 * or removed counts as having no value.
 *
 * @param key the key of the value in JSON
 */
export function parseLine(line: string, key: "address" | "file"): Line {
  const value = objectOf(line);
  if (value === undefined) return { text: line, json: false, replaces: false };
  const isGone = value["skipped"] === true || value["removed"] === true;
  const text = isGone ? undefined : value[key];
  return {
    text: typeof text === "string" ? text : undefined,
    json: true,
    replaces: typeof value["previous"] === "string",
  };
}

/** The object in a line of JSON; undefined if the line is something else. */
export function objectOf(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    // A text that begins with a brace is an object or invalid.
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}
