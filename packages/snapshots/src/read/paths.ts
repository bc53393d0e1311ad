import { StorageError } from "@idk/storage";

const SLASH = 0x2f;

/** A name in the directory of a path. */
export function inPath(path: Uint8Array, name: Uint8Array): Uint8Array {
  if (path.length === 0) return new Uint8Array(name);
  const joined = new Uint8Array(path.length + 1 + name.length);
  joined.set(path);
  joined[path.length] = SLASH;
  joined.set(name, path.length + 1);
  return joined;
}

/**
 * The names of a path in a snapshot. Slashes at its beginning and end, and several, mean nothing.
 *
 * @param path text in UTF-8, or bytes, because names need not be UTF-8
 * @throws StorageError `usage` if it has a name that no entry has: `.`, `..` or a zero byte
 */
export function namesOf(path: string | Uint8Array): Uint8Array[] {
  const bytes = typeof path === "string" ? new TextEncoder().encode(path) : path;
  const names: Uint8Array[] = [];
  for (let start = 0; start < bytes.length;) {
    const slash = bytes.indexOf(SLASH, start);
    const end = slash === -1 ? bytes.length : slash;
    if (end > start) names.push(bytes.subarray(start, end));
    start = end + 1;
  }
  for (const name of names) {
    const text = Buffer.from(name).toString("latin1");
    if (text === "." || text === ".." || text.includes("\0")) {
      throw new StorageError("usage", `${shownPath(bytes)} is not a path in a snapshot`);
    }
  }
  return names;
}

/** A path for a message: what is not printable is escaped, and it is cut if it is long. */
export function shownPath(path: Uint8Array): string {
  const text = JSON.stringify(Buffer.from(path.subarray(0, 300)).toString("utf8"));
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\u{FFFD}");
}
