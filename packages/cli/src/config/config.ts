import type { IdentitySource } from "../identity-source.ts";
import type { RecipientSource } from "../environment.ts";

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
