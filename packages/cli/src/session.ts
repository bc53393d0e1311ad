import type { Output } from "./output/output.ts";
import type { Progress } from "./progress/meter.ts";

/** What every command uses besides its settings. */
export interface Session {
  readonly out: Output;
  /** Aborts on SIGINT, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /**
   * For a command that serves until it is stopped: from now on SIGHUP calls `reload` instead, and SIGINT and
   * SIGTERM leave it as much time as it needs to end.
   */
  readonly keepRunning: (reload: () => Promise<void>) => void;
}
