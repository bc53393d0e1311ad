import type { Output } from "./output/output.ts";
import type { Progress } from "./progress/meter.ts";

/** What every command works with, besides its own settings. */
export interface Session {
  readonly out: Output;
  /** Fires on Ctrl-C and on a request to terminate. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
}
