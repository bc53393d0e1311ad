import type { Output } from "./output/output.ts";
import type { Progress } from "./progress/meter.ts";

/** What every command uses besides its settings. */
export interface Session {
  readonly out: Output;
  /** Aborts on SIGINT, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
}
