import type { Environment } from "./session.ts";

/** Arguments and flags, or the settings made of them, by name; not checked yet. */
export type RawSettings = Readonly<Record<string, unknown>>;

/** One recipient, or a file of them. */
export type RecipientSource =
  | { readonly kind: "recipient"; readonly text: string }
  | { readonly kind: "file"; readonly path: string };

/** A store's URL, with the variables that complete it. */
export interface StoreSource {
  readonly url: string;
  readonly env: Environment;
}

/** A command line, and the environment it was given in. */
export interface Invocation {
  /** Named as the long flags, in camel case; operands by their own names. */
  readonly options: RawSettings;
  readonly env: Environment;
}
