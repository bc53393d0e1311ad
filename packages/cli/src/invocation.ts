export type Environment = Readonly<Record<string, string | undefined>>;

/** Arguments and flags, or the settings made of them, by name; not checked yet. */
export type RawSettings = Readonly<Record<string, unknown>>;

/** A command line, and the environment it was given in. */
export interface Invocation {
  /** Named as the long flags, in camel case; operands by their own names. */
  readonly options: RawSettings;
  readonly env: Environment;
}
