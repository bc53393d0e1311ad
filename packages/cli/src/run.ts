import { runProgram } from "./command-line/program.ts";
import { Interruption, reportOf, stackOf } from "./errors/failures.ts";
import type { Environment } from "./invocation.ts";
import { createOutput } from "./output/output.ts";
import { createScreen } from "./output/screen.ts";
import { toJson } from "./output/text.ts";
import type { Session } from "./session.ts";

/** Runs one command line. Resolves with the exit code when all output is written. */
export async function run(args: readonly string[], env: Environment): Promise<number> {
  const screen = createScreen();
  const out = createOutput({ json: wantsJson(args), screen });
  const { signal, keepRunning } = abortOnSignals();
  const debug = env["IDK_DEBUG"] === "1";

  const fail = async (reason: unknown): Promise<number> => {
    screen.setLine(undefined);
    // Results from before the failure are valid. If they cannot be written, the failure matters more.
    await Promise.allSettled([out.flush()]);
    const report = reportOf(reason, signal);
    if (report.silent) return report.exitCode;
    if (debug) await out.block(stackOf(reason));
    const { code, message } = report;
    await out.block(out.json ? toJson({ error: { code, message } }) : `idk: ${message}`);
    return report.exitCode;
  };

  // Errors outside of awaited calls are reported in the same way, without a stack trace.
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (error: unknown) => {
      void exitAfter(fail(error));
    });
  }

  try {
    await runProgram(args, env, { out, signal, screen, keepRunning });
    await out.flush();
    return 0;
  } catch (error) {
    return await fail(error);
  }
}

async function exitAfter(failed: Promise<number>): Promise<never> {
  return process.exit(await failed);
}

/** Read before the arguments are parsed, because errors in them are also reported as JSON. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end === -1 ? args.length : end).includes("--json");
}

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** Milliseconds for a command to clean up. Opening a pipe can block for ever. */
const GRACE = 5000;

/** The first signal lets the command clean up; the second ends the process. */
function abortOnSignals(): Pick<Session, "signal" | "keepRunning"> {
  const controller = new AbortController();
  let reload: (() => Promise<void>) | undefined;
  for (const [name, exitCode] of Object.entries(SIGNALS)) {
    process.on(name, () => {
      if (name === "SIGHUP" && reload !== undefined) {
        void reload();
        return;
      }
      if (controller.signal.aborted) process.exit(exitCode);
      controller.abort(new Interruption(exitCode));
      if (reload === undefined) setTimeout(() => process.exit(exitCode), GRACE).unref();
    });
  }
  return {
    signal: controller.signal,
    keepRunning(given) {
      reload = given;
    },
  };
}
