import { nearest } from "@idk/storage/url";
import { usage } from "../errors/failures.ts";
import { looksLikeSecret } from "../output/secrets.ts";
import type { IdentitySource } from "../keys/identity-source.ts";
import type { RecipientSource } from "../keys/recipient-source.ts";

/** A value and its line in the file. */
export interface Located<T> {
  readonly value: T;
  /** 1 or more. */
  readonly line: number;
}

/** Settings for one store, or for all of them. */
export interface Preferences {
  readonly identity?: Located<readonly IdentitySource[]>;
  readonly identityCommand?: Located<IdentitySource>;
  readonly recipients?: Located<readonly RecipientSource[]>;
  readonly compress?: Located<string>;
  readonly workers?: Located<string>;
  readonly chunkSize?: Located<string>;
  readonly padding?: Located<boolean>;
  readonly dedupSecret?: Located<string>;
  readonly pageUrl?: Located<string>;
}

export interface StoreEntry extends Preferences {
  readonly url: Located<string>;
  readonly repository?: RepositoryEntry;
}

/** What is fixed of the repository of snapshots in a store: its table `[store.NAME.repository]`. */
export interface RepositoryEntry {
  /** Of the table's first key, or of its name if it is empty. */
  readonly line: number;
  /** The repository's uuid, 32 hexadecimal digits. */
  readonly id: Located<string>;
  /** The owner's public key, `idk-writer1…`. */
  readonly owner: Located<string>;
  /** In seconds. */
  readonly gracePeriod: Located<number>;
  /** The file of this host's writer key, if it writes snapshots. */
  readonly writer?: Located<string>;
  /** The names, as patterns, under which the owner lets this host write; undefined if not known. */
  readonly names?: Located<readonly string[]>;
}

/** A validated configuration file. Its paths are absolute. */
export interface Config {
  readonly path: string;
  /** The name of a store. */
  readonly default: Located<string> | undefined;
  readonly global: Preferences;
  readonly stores: ReadonlyMap<string, StoreEntry>;
}

const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}._-]*$/u;

/**
 * Whether a text can be the name of a store: one word, unlike a URL or a path with a slash. If there
 * are named stores, a folder has to be written as ./work.
 */
export function isStoreName(text: string): boolean {
  return NAME.test(text);
}

/**
 * Finds the store that a text names. If there are named stores, every word is a name, so that a typo
 * does not create a folder.
 *
 * @returns undefined if the text is a folder or a URL
 * @throws Failure `usage` if there is no store of this name
 */
export function findStore(text: string, config: Config | undefined): StoreEntry | undefined {
  if (config === undefined || config.stores.size === 0 || !isStoreName(text)) return undefined;
  const entry = config.stores.get(text);
  if (entry !== undefined) return entry;
  if (looksLikeSecret(text)) throw usage("the store looks like a secret key, not a name or URL");
  const names = [...config.stores.keys()];
  const guess = nearest(text, names);
  const hint = guess === undefined ? `it has ${names.join(", ")}` : `did you mean ${guess}?`;
  throw usage(`no store ${text} in ${config.path} (${hint}); for a folder, write ./${text}`);
}
