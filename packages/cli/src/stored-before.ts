import { printable } from "./text.ts";
import { readList } from "./list-file.ts";

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
