import { nearest } from "@idk/storage/url";
import { usage } from "../errors/failures.ts";
import type { IdentitySource } from "../keys/identity-source.ts";
import type { RecipientSource } from "../keys/recipients.ts";

/** A value of the file, and where it stands. */
export interface Located<T> {
  readonly value: T;
  /** 1 or more. */
  readonly line: number;
}

/** What can be said for one store, or for all of them. */
export interface Preferences {
  readonly identity?: Located<readonly IdentitySource[]>;
  readonly identityCommand?: Located<IdentitySource>;
  readonly recipients?: Located<readonly RecipientSource[]>;
  readonly compress?: Located<string>;
  readonly workers?: Located<string>;
  readonly chunkSize?: Located<string>;
  readonly padding?: Located<boolean>;
  readonly dedupSecret?: Located<string>;
}

export interface StoreEntry extends Preferences {
  readonly url: Located<string>;
}

/** A configuration file, checked. Paths in it are absolute. */
export interface Config {
  readonly path: string;
  /** The name of a store. */
  readonly default: Located<string> | undefined;
  readonly global: Preferences;
  readonly stores: ReadonlyMap<string, StoreEntry>;
}

const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}._-]*$/u;

/**
 * Whether a text can be the name of a store: one word, which no URL and no path with a slash is. A
 * folder is written ./work where there are named stores.
 */
export function isStoreName(text: string): boolean {
  return NAME.test(text);
}

/**
 * Finds the store that a text names. Where there are named stores, every word is a name, so that a
 * slip of the finger makes no new folder.
 *
 * @returns undefined where the text is a folder or a URL
 * @throws Failure `usage` for a name that there is not
 */
export function findStore(text: string, config: Config | undefined): StoreEntry | undefined {
  if (config === undefined || config.stores.size === 0 || !isStoreName(text)) return undefined;
  const entry = config.stores.get(text);
  if (entry !== undefined) return entry;
  const names = [...config.stores.keys()];
  const guess = nearest(text, names);
  const hint = guess === undefined ? `it has ${names.join(", ")}` : `did you mean ${guess}?`;
  throw usage(`no store ${text} in ${config.path} (${hint}); a folder is written ./${text}`);
}
