import { fileURLToPath } from "node:url";

/** Where a store is: one variant for every kind of backend. */
export interface StoreLocation {
  readonly kind: "filesystem";
  readonly folder: string;
}

const SUPPORTED = "a folder (DIR or file:///DIR)";

/** A scheme has two letters or more: `C:` is a drive. */
const SCHEME = /^([a-z][a-z0-9+.-]+):/iu;

/** Reads a store's URL. Messages name its scheme alone, for URLs can hold credentials. */
export function parseStoreLocation(text: string): StoreLocation {
  if (text === "") throw new Error(`takes ${SUPPORTED}, got an empty text`);
  if (text.includes("\0")) throw new Error("takes a folder, and no folder's name has a zero byte");
  const scheme = SCHEME.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return { kind: "filesystem", folder: text };
  if (scheme !== "file") {
    throw new Error(`does not support "${scheme}:"; supported is ${SUPPORTED}`);
  }
  try {
    if (!/^file:\/\/(localhost)?\//iu.test(text)) throw new Error("relative");
    return { kind: "filesystem", folder: fileURLToPath(text) };
  } catch {
    throw new Error("takes a file URL with an absolute path: file:///DIR");
  }
}
