import type { Calibration } from "../report/report.ts";
import type { Environment } from "./store-url.ts";
import type { ReportHead } from "../report/table.ts";
import type { Suite } from "../suite.ts";
import type { TextStream } from "./progress.ts";

/** All that the command has to do with, so that tests can put something else there. */
export interface World {
  readonly suites: readonly Suite[];
  readonly env: Environment;
  readonly stdout: TextStream & {
    /** Width of the terminal, in characters, where it is one. */
    readonly columns?: number | undefined;
    /** Resolves when the text has been taken. */
    print(text: string): Promise<void>;
  };
  readonly stderr: TextStream;
  /** Its reason is an `Interruption`. */
  readonly signal: AbortSignal;
  describeRun(quick: boolean, signal: AbortSignal): Promise<Omit<ReportHead, "calibration">>;
  /** Measures what the machine does on one thread; called again and again during a run. */
  calibrate(): Promise<Calibration>;
}
