import type { Output } from "./output.ts";
import type { Progress } from "./progress/progress.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** What every command works with, besides its own settings. */
export interface Session {
  readonly out: Output;
  /** Fires on Ctrl-C and on a request to terminate. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
}
