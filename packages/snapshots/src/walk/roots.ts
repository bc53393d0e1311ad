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
 * Joins paths under one root, by their absolute paths. Links above a path are resolved, so that it is
 * the same wherever it was given from; a path that is a link itself stays one.
 *
 * @param paths as bytes; relative ones begin at the current folder
 * @throws Error `ENOENT` and the like if a folder above a path cannot be resolved
 */
export function joinPaths(paths: readonly Uint8Array[]): Root {
  const root: Root = { isGiven: false, children: new Map() };
  for (const path of paths) {
    let current = root;
    for (const component of resolved(path)) {
      let next = current.children.get(component);
      if (next === undefined)
        current.children.set(component, (next = { isGiven: false, children: new Map() }));
      current = next;
    }
    current.isGiven = true;
  }
  return root;
}

/** A name in a root as bytes. */
export function bytesOf(name: string): Uint8Array {
  return Buffer.from(name, "latin1");
}

function resolved(path: Uint8Array): string[] {
  if (path.length === 0 || path.includes(0))
    throw new RangeError("a path is empty or contains a zero byte");
  const absolute =
    path[0] === SLASH ? path : Buffer.concat([Buffer.from(`${process.cwd()}/`), path]);
  const components = split(Buffer.from(absolute).toString("latin1"));
  const last = components.at(-1);
  // "..", which may lead through a link, has no name of its own.
  const isWhole = last === undefined || last === "..";
  const above = `/${(isWhole ? components : components.slice(0, -1)).join("/")}`;
  const real = realpathSync(Buffer.from(above, "latin1"), { encoding: "buffer" });
  const parents = split(Buffer.from(real).toString("latin1"));
  return isWhole ? parents : [...parents, last];
}

function split(path: string): string[] {
  return path.split("/").filter((component) => component !== "" && component !== ".");
}
