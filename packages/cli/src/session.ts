import type { Output } from "./output/output.ts";
import type { Progress } from "./progress/meter.ts";

/** What every command uses besides its settings. */
export interface Session {
  readonly out: Output;
  /** Aborts on SIGINT, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** From now on, SIGHUP calls this, and does not end the command. */
  readonly onHangup: (reload: () => Promise<void>) => void;
  /**
   * For a command that serves until it is stopped: SIGINT and SIGTERM leave it as much time as it needs to
   * end. A rejection that nobody handles is reported alone; an exception that nobody catches stops it.
   */
  readonly keepRunning: () => void;
}
