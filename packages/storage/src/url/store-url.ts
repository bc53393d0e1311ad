import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Durability } from "../backend/filesystem.ts";
import { usage } from "../errors.ts";
import { nearest } from "./nearest.ts";
import { type ObjectLocation, parseB2, parseMinio, parseS3 } from "./object-stores.ts";
import { type Environment, type UrlRules, splitUrl } from "./split.ts";

/** A folder. */
export interface FilesystemLocation {
  readonly kind: "filesystem";
  readonly folder: string;
  /** Absent: the library's default. */
  readonly durability?: Durability;
}

/** Where a store is, and what it takes to open it: one variant for each kind of backend. */
export type StoreLocation = FilesystemLocation | ObjectLocation;

type Parse = (text: string, env: Environment) => StoreLocation;

const PARSERS: ReadonlyMap<string, Parse> = new Map<string, Parse>([
  ["file", parseFileUrl],
  ["s3", parseS3],
  ["minio", parseMinio],
  ["b2", parseB2],
]);

const SUPPORTED = "a folder (DIR or file:///DIR), s3://, minio:// and b2://";

/** A scheme has two letters or more: `C:` is a drive. */
const SCHEME = /^([a-z][a-z0-9+.-]+):/iu;

/** Longer text before a colon may be a pasted secret, and is not repeated. */
const SCHEME_SHOWN_MAX = 16;

/**
 * Parses a store's URL, or the path of a folder. The provider's variables in `env` supply what the
 * URL omits. Opens and reads nothing.
 *
 * @example
 * parseStoreUrl("s3://attic/notes?region=eu-central-1", process.env);
 *
 * @throws StorageError `usage`. The message is a predicate that follows the name of the caller's
 *   setting, such as "names no bucket: s3://BUCKET". It never repeats the URL, which may contain
 *   credentials.
 */
export function parseStoreUrl(text: string, env: Environment): StoreLocation {
  if (text === "") throw usage(`takes ${SUPPORTED}, got an empty string`);
  if (text.includes("\0")) throw usage("takes a folder, and a path cannot contain a NUL byte");
  const scheme = SCHEME.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return { kind: "filesystem", folder: text };
  const parse = PARSERS.get(scheme);
  if (parse !== undefined) return parse(text, env);
  const guess = nearest(scheme, [...PARSERS.keys()]);
  const hint = guess === undefined ? "" : ` (did you mean ${guess}:?)`;
  const named = scheme.length > SCHEME_SHOWN_MAX ? "this scheme" : `"${scheme}:"`;
  throw usage(`does not support ${named}${hint}; supported are ${SUPPORTED}`);
}

/** Where the repository of snapshots lies, below a store's location. */
const REPOSITORY = "repo";

/**
 * The location of the repository of snapshots in a store's location: `repo/` below it. A store never
 * lists, reads or deletes what is there.
 */
export function repositoryLocation(location: StoreLocation): StoreLocation {
  if (location.kind === "filesystem") {
    return { ...location, folder: join(location.folder, REPOSITORY) };
  }
  const { prefix = "" } = location;
  const separator = prefix === "" || prefix.endsWith("/") ? "" : "/";
  return { ...location, prefix: `${prefix}${separator}${REPOSITORY}` };
}

const FILE_RULES: UrlRules = {
  form: "file:///DIR",
  credentials: "a folder needs none",
  query: ["durability"],
};

function parseFileUrl(text: string): FilesystemLocation {
  const folder = folderOf(text);
  const durability = splitUrl(text, FILE_RULES).query.get("durability");
  if (durability === undefined) return { kind: "filesystem", folder };
  if (durability !== "full" && durability !== "none") {
    throw usage("must have full or none for durability");
  }
  return { kind: "filesystem", folder, durability };
}

function folderOf(text: string): string {
  const malformed = "takes a file URL with an absolute path: file:///DIR";
  if (!/^file:\/\/(localhost)?\//iu.test(text)) throw usage(malformed);
  try {
    return fileURLToPath(text);
  } catch {
    throw usage(malformed);
  }
}
