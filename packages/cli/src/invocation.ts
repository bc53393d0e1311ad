export type Environment = Readonly<Record<string, string | undefined>>;

/** Unvalidated arguments and flags, or settings made of them, by name. */
export type RawSettings = Readonly<Record<string, unknown>>;

/** A command line and its environment. */
export interface Invocation {
  /** By long flag in camel case, or by operand. */
  readonly options: RawSettings;
  readonly env: Environment;
}
