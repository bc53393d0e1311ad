import { type ObjectLocation, parseB2, parseMinio, parseS3 } from "./object-locations.ts";
import type { Durability } from "@idk/storage/filesystem";
import type { Environment } from "./session.ts";
import { nearest } from "./nearest.ts";
import { type UrlRules, splitStoreUrl } from "./store-url.ts";

export interface FilesystemLocation {
  readonly kind: "filesystem";
  readonly folder: string;
  /** Where it is not the library's own choice. */
  readonly durability?: Durability;
}

/** Where a store is, and what it takes to open it: one variant for every kind of backend. */
export type StoreLocation = FilesystemLocation | ObjectLocation;

const PARSERS: ReadonlyMap<string, (text: string, env: Environment) => StoreLocation> = new Map<
  string,
  (text: string, env: Environment) => StoreLocation
>([
  ["file", parseFileUrl],
  ["s3", parseS3],
  ["minio", parseMinio],
  ["b2", parseB2],
]);

const SUPPORTED = "a folder (DIR or file:///DIR), s3://, minio:// and b2://";

/** A scheme has two letters or more: `C:` is a drive. */
const SCHEME = /^([a-z][a-z0-9+.-]+):/iu;

/**
 * Reads a store's URL, completed by the variables of its provider. Messages name its scheme alone,
 * for URLs can hold credentials.
 */
export function parseStoreLocation(text: string, env: Environment): StoreLocation {
  if (text === "") throw new Error(`takes ${SUPPORTED}, got an empty text`);
  if (text.includes("\0")) throw new Error("takes a folder, and no folder's name has a zero byte");
  const scheme = SCHEME.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return { kind: "filesystem", folder: text };
  const parse = PARSERS.get(scheme);
  if (parse !== undefined) return parse(text, env);
  const guess = nearest(scheme, [...PARSERS.keys()]);
  const hint = guess === undefined ? "" : ` (did you mean ${guess}:?)`;
  throw new Error(`does not support "${scheme}:"${hint}; supported are ${SUPPORTED}`);
}

const FILE_RULES: UrlRules = {
  form: "file:///DIR",
  credentials: "a folder needs none",
  query: ["durability"],
};

function parseFileUrl(text: string): FilesystemLocation {
  const folder = folderOf(text);
  const durability = splitStoreUrl(text, FILE_RULES).query.get("durability");
  if (durability === undefined) return { kind: "filesystem", folder };
  if (durability !== "full" && durability !== "none") {
    throw new Error("must have full or none for durability");
  }
  return { kind: "filesystem", folder, durability };
}

function folderOf(text: string): string {
  try {
    if (!/^file:\/\/(localhost)?\//iu.test(text)) throw new Error("relative");
    return Bun.fileURLToPath(text);
  } catch {
    throw new Error("takes a file URL with an absolute path: file:///DIR");
  }
}
