import manifest from "../../package.json" with { type: "json" };
import { calibrate } from "../harness/bounds.ts";
import { thisMachine } from "../harness/machine.ts";
import { git } from "../harness/processes.ts";
import { REPORT_SCHEMA, type ReportHead } from "../report/report.ts";
import type { Suite } from "../suite.ts";
import type { TextStream } from "./progress.ts";
import { Interruption } from "./usage.ts";

/** Everything that the command depends on, so that tests can replace it. */
export interface BenchContext {
  readonly suites: readonly Suite[];
  /** `--env-file` adds to it, so that programs which suites start inherit its variables. */
  readonly env: Record<string, string | undefined>;
  readonly stdout: Omit<TextStream, "write"> & {
    /** Resolves when the text has been written. */
    print(text: string): Promise<void>;
  };
  readonly stderr: TextStream;
  /** Its reason is an `Interruption`. */
  readonly signal: AbortSignal;
  describeRun(quick: boolean, signal: AbortSignal): Promise<ReportHead>;
}

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Milliseconds within which a second signal is the same one: the terminal signals this process, and
 * `idk` forwards the signal to it as well.
 */
const DUPLICATE_WINDOW = 500;

/** Milliseconds allowed for cleaning up. */
const GRACE = 30_000;

/** The first signal aborts and lets the run clean up; a second one exits at once. */
export function abortOnSignals(note: (line: string) => void): AbortSignal {
  const controller = new AbortController();
  let first = 0;
  for (const [name, exitCode] of Object.entries(SIGNALS)) {
    process.on(name, () => {
      if (controller.signal.aborted) {
        if (performance.now() - first > DUPLICATE_WINDOW) process.exit(exitCode);
        return;
      }
      first = performance.now();
      note("idk bench: stopping and cleaning up; interrupt again to stop immediately");
      controller.abort(new Interruption(exitCode));
      setTimeout(() => process.exit(exitCode), GRACE).unref();
    });
  }
  return controller.signal;
}

/** Describes the version about to be measured, and the machine and its speed. */
export async function describeRun(quick: boolean, signal: AbortSignal): Promise<ReportHead> {
  return {
    schema: REPORT_SCHEMA,
    createdAt: new Date().toISOString(),
    version: manifest.version,
    revision: await revisionOf(signal),
    machine: await thisMachine(),
    calibration: await calibrate(),
    quick,
  };
}

async function revisionOf(signal: AbortSignal): Promise<string | undefined> {
  const inPackage = (...args: string[]): Promise<string> =>
    git(`${import.meta.dirname}/../..`, args, signal);
  try {
    // If the package is installed inside another repository, that commit is unrelated to it.
    await inPackage("ls-files", "--error-unmatch", "package.json");
    const format = ["--always", "--dirty", "--abbrev=40", "--exclude=*"];
    return (await inPackage("describe", ...format)).trim();
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
