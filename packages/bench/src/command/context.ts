import manifest from "../../package.json" with { type: "json" };
import { fileURLToPath } from "node:url";
import { output } from "../compare/program.ts";
import { thisMachine } from "../harness/machine.ts";
import { type Calibration, REPORT_SCHEMA } from "../report/report.ts";
import type { ReportHead } from "../report/table.ts";
import type { Suite } from "../suite.ts";
import type { TextStream } from "./progress.ts";
import type { Environment } from "./store-url.ts";
import { Interruption } from "./usage.ts";

/** All that the command has to do with, so that tests can put something else there. */
export interface BenchContext {
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

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** Milliseconds. Two signals closer together are one: a terminal sends it, and `idk` passes it on. */
const ECHO = 500;

/** What cleaning up may take, in milliseconds. */
const GRACE = 30_000;

/**
 * The first signal lets what runs clean up; the second, from someone in a hurry, does not.
 *
 * @param note takes a line for people
 */
export function abortOnSignals(note: (line: string) => void): AbortSignal {
  const controller = new AbortController();
  let first = 0;
  for (const [name, exitCode] of Object.entries(SIGNALS)) {
    process.on(name, () => {
      if (controller.signal.aborted) {
        if (performance.now() - first > ECHO) process.exit(exitCode);
        return;
      }
      first = performance.now();
      note("idk bench: stopping, and cleaning up; once more to stop at once");
      controller.abort(new Interruption(exitCode));
      setTimeout(() => process.exit(exitCode), GRACE).unref();
    });
  }
  return controller.signal;
}

/** Looks at the machine, and at what is about to be measured. */
export async function describeRun(
  quick: boolean,
  signal: AbortSignal,
): Promise<Omit<ReportHead, "calibration">> {
  const revision = await revisionOf(signal);
  return {
    schema: REPORT_SCHEMA,
    createdAt: new Date().toISOString(),
    version: manifest.version,
    ...(revision !== undefined && { revision }),
    machine: await thisMachine(),
    quick,
  };
}

async function revisionOf(signal: AbortSignal): Promise<string | undefined> {
  const cwd = fileURLToPath(new URL("../../", import.meta.url));
  const git = (...args: string[]): Promise<string> =>
    output({ argv: ["git", ...args], cwd, signal });
  try {
    // Installed below a repository of somebody else, its commits say nothing of this package.
    await git("ls-files", "--error-unmatch", "package.json");
    const commit = (await git("rev-parse", "HEAD")).trim();
    const changed = await git("status", "--porcelain", "--untracked-files=no");
    return changed === "" ? commit : `${commit}-dirty`;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
