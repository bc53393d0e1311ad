import { realpathSync } from "node:fs";

/** A folder on the way to the paths that were given, or one of these. */
export interface Root {
  /** Whether it was given, and with it everything below. */
  isGiven: boolean;
  /** The name, as bytes in a text of one character each, which sorts as the bytes do. */
  readonly children: Map<string, Root>;
}

const SLASH = 0x2f;

/**
 * The absolute path by which a backup stores what is at a path. Links above it are resolved, so that it is
 * the same wherever it was given from; a path that is a link itself stays one. What cannot be resolved, such
 * as a folder that does not exist, stays as it is.
 *
 * @param path as bytes; a relative one begins at the current folder
 * @throws RangeError if it is empty or contains a zero byte; Error `ENOENT` and the like if `..` follows
 *   what cannot be resolved
 */
export function resolvePath(path: Uint8Array): Uint8Array {
  if (path.length === 0 || path.includes(0))
    throw new RangeError("a path is empty or contains a zero byte");
  const absolute = isAbsolute(path)
    ? path
    : Buffer.concat([Buffer.from(`${process.cwd()}/`), path]);
  const above = split(absolute);
  const below: string[] = [];
  // "..", which may lead through a link, has no name of its own.
  if (above.length > 0 && above.at(-1) !== "..") below.unshift(above.pop()!);
  for (;;) {
    try {
      // Only the system's own call goes through links before "..".
      const real = realpathSync.native(bytesOf(`/${above.join("/")}`), { encoding: "buffer" });
      return bytesOf(`/${[...split(real), ...below].join("/")}`);
    } catch (error) {
      const last = above.pop();
      if (last === undefined || last === "..") throw error;
      below.unshift(last);
    }
  }
}

/** Joins absolute paths under one root. */
export function joinPaths(paths: readonly Uint8Array[]): Root {
  const root: Root = { isGiven: false, children: new Map() };
  for (const path of paths) {
    let current = root;
    for (const component of split(path)) {
      let next = current.children.get(component);
      if (next === undefined)
        current.children.set(component, (next = { isGiven: false, children: new Map() }));
      current = next;
    }
    current.isGiven = true;
  }
  return root;
}

/** What a name is in a folder; undefined if no path leads to it. */
export function rootIn(folder: Root | undefined, name: Uint8Array): Root | undefined {
  if (folder === undefined || folder.isGiven) return folder;
  return folder.children.get(Buffer.from(name).toString("latin1"));
}

export function isAbsolute(path: Uint8Array): boolean {
  return path[0] === SLASH;
}

/** A name in a root as bytes. */
export function bytesOf(name: string): Buffer {
  return Buffer.from(name, "latin1");
}

function split(path: Uint8Array): string[] {
  const components = Buffer.from(path).toString("latin1").split("/");
  return components.filter((component) => component !== "" && component !== ".");
}
